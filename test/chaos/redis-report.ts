import { cpus } from 'node:os';
import { type Fault, type RedisStorm } from './redis-storm.js';

const MUST_BE_ZERO = /^(calls over|answers 429|activities without|… and missing)/;

/** Runs the faults one after the other, prints stalls and losses, and returns the exit code. */
export async function report(servers: string, storm: RedisStorm, faults: readonly Fault[]): Promise<number> {
  const beganMs = performance.now();
  const stalls: Record<string, Readonly<Record<string, number>>> = {};
  for (const fault of faults) {
    stalls[fault.name] = await storm.stallsOf(fault);
    console.log(`${fault.name}: ${JSON.stringify(stalls[fault.name])}`);
  }
  const verdict = await storm.verdict();
  const seconds = Math.round((performance.now() - beganMs) / 1_000);
  console.log(`${servers}; 2 apis, 3 workers, ${cpus().length} cores, ${seconds} s`);
  console.log('Longest stall in seconds, from the fault until all works again:');
  console.table(stalls);
  console.table(Object.fromEntries(Object.entries(verdict).map(([what, count]) => [what, { count }])));
  return Object.entries(verdict).some(([what, count]) => MUST_BE_ZERO.test(what) && count !== 0) ? 1 : 0;
}
