import { keepResults, MACHINE } from '../results.js';
import { isWrong } from './oracle.js';
import { type WeekOptions, type WeekResult } from './week.js';

/** Prints the tables, keeps the raw numbers, and returns the exit code. */
export function report(name: string, options: WeekOptions, result: WeekResult): number {
  const { seed, athletes, days, dayMs } = options;
  const minutes = Math.round((days * dayMs) / 60_000);
  console.log(
    `${name}, seed ${seed}: ${athletes} athletes, ${days} days in ${minutes} min, ${result.kills} processes killed, ` +
      `${MACHINE.cores} cores; settled ${result.settledAfterS} s after the last kill; ${result.newConsents} new consents`,
  );
  console.table(
    Object.fromEntries(
      Object.entries(result.faults).map(([name, { times, overLimit, stalls }]) => [
        name,
        { times, 'over limit': overLimit, ...stalls },
      ]),
    ),
  );
  console.log('Above: the longest time in seconds without progress, from the fault until the next one.');
  console.table(Object.fromEntries(Object.entries(result.done).map(([what, times]) => [what, { times }])));
  console.table(
    Object.fromEntries(
      result.lines.map(({ what, tried, lost, doubled, wrong }) => [what, { tried, lost, doubled, wrong }]),
    ),
  );
  console.table(Object.fromEntries(result.calls.map(({ vendor, ...counts }) => [vendor, counts])));
  for (const { what, examples } of result.lines.filter(isWrong)) console.log(what, examples);
  for (const [what, count] of Object.entries(result.mustBeZero)) if (count > 0) console.log(what, count);
  for (const note of result.notes) console.log(note);
  keepResults(`${name}-${seed}`, { machine: MACHINE, options, ...result });
  return isSound(result) ? 0 : 1;
}

export function isSound({ lines, calls, mustBeZero }: WeekResult): boolean {
  const isOver = calls.some(({ over_limit }) => over_limit > 0);
  return !lines.some(isWrong) && !isOver && Object.values(mustBeZero).every((count) => count === 0);
}
