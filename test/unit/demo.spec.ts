import { describe, expect, it } from '@jest/globals';
import { spawnSync } from 'node:child_process';
import { inTerminal, screenAfter } from '../harness/screen.js';

// The launcher is plain JavaScript, so the functions that these tests call are declared here.
interface Count {
  readonly done: number;
  readonly total: number | null;
  readonly eta: string | null;
}
interface Progress {
  readonly importStatus?: string;
  readonly importMessage?: string;
  readonly hasImported: boolean;
  readonly activities: Count & { readonly resumesAt: string | null };
  readonly streams: Count & { readonly left: number; readonly failed: number };
  readonly nights: Readonly<Record<string, number>>;
  readonly window: Budget;
  readonly day: Budget;
  readonly isComplete: boolean;
}
interface Budget {
  readonly remaining: number;
  readonly limit: number;
  readonly resets_at: string;
}
interface Clock {
  readonly scale: number;
  dayAndTime(when: string): string;
  time(when: string, nowMs: number): string;
}
interface Line {
  readonly text: string;
  readonly length: number;
}
interface Progresses {
  progressOf(answers: object): Progress;
  milestones(before: Progress | undefined, now: Progress): string[];
}
interface View {
  simulatedClock(scale: number, startedAtMs: number): Clock;
  renderProgress(
    progress: Progress,
    context: { clock: Clock; nowMs: number; columns: number; hasColours: boolean },
  ): Line[];
}
interface Requests {
  firstRequests(description: { api: string; tokens: Record<string, string | null> }, runFile: string): string;
}
interface Terminal {
  rowsOnScreen(lengths: number[], columns: number): number;
}

const urlOf = (name: string) => new URL(`../../bin/launcher/${name}.mjs`, import.meta.url).href;
const { progressOf, milestones } = (await import(urlOf('demo-progress'))) as Progresses;
const { simulatedClock, renderProgress } = (await import(urlOf('demo-view'))) as View;
const { firstRequests } = (await import(urlOf('first-requests'))) as Requests;
const { rowsOnScreen } = (await import(urlOf('terminal'))) as Terminal;

const SCALE = 900;
const QUARTER_MS = 1_000; // a window of 15 minutes
// A Thursday, and a boundary of simulated days: they last 96 s.
const THURSDAY_MS = Math.ceil(Date.parse('2026-11-19T14:00:00Z') / 96_000) * 96_000;
const after = (quarters: number) => new Date(THURSDAY_MS + quarters * QUARTER_MS).toISOString();
const clock = simulatedClock(SCALE, THURSDAY_MS);

const atVendors = [...Array<string>(3).fill('oura'), 'whoop'].map((vendor) => ({ vendor }));
const answers = {
  athleteId: 'a',
  imports: [
    { provider: 'polar', type: 'full', status: 'completed' },
    { provider: 'strava', type: 'incremental', status: 'queued' },
    {
      ...{ provider: 'strava', type: 'full', status: 'rate_limited', message: 'Rate limited' },
      ...{ activities_imported: 620, activities_total: 900, retry_after: after(96), eta: after(100) },
    },
  ],
  overview: {
    backfill: [
      { athlete_id: 'b', pending: 9, fetching: 9, deferred: 9, success: 9, failed: 9, unavailable: 9 },
      {
        ...{
          athlete_id: 'a',
          pending: 500,
          fetching: 1,
          deferred: 2,
          success: 370,
          failed: 3,
          unavailable: 24,
        },
        eta: after(120),
      },
    ],
    window: { remaining: 12, limit: 100, resets_at: after(1) },
    day: { remaining: 50, limit: 1_000, resets_at: after(96) },
  },
  nights: atVendors,
};
const halfway = progressOf(answers);
const complete: Progress = {
  ...halfway,
  ...{ importStatus: 'completed', importMessage: 'Completed: 900 activities imported', hasImported: true },
  activities: { done: 900, total: 900, eta: null, resumesAt: null },
  streams: { done: 873, total: 876, left: 0, failed: 3, eta: null },
  isComplete: true,
};
const draw = (progress: Progress, columns: number, hasColours = false) =>
  renderProgress(progress, { clock, nowMs: THURSDAY_MS + QUARTER_MS / 2, columns, hasColours });
const textOf = (lines: Line[]) => lines.map(({ text }) => text.trimEnd()).join('\n');

describe('progressOf', () => {
  it('progressOf reads the Strava import of the history and the counts of this athlete, and leaves out activities without streams', () => {
    expect(halfway.activities).toEqual({ done: 620, total: 900, eta: after(100), resumesAt: after(96) });
    expect(halfway.streams).toEqual({ done: 370, left: 503, failed: 3, total: 876, eta: after(120) });
    expect(halfway.nights).toEqual({ oura: 3, whoop: 1 });
    expect(halfway.isComplete).toBe(false);
  });

  it('a demo without an import and without streams counts as complete', () => {
    const nothing = { ...answers, imports: [], overview: { ...answers.overview, backfill: [] } };
    expect(progressOf(nothing).isComplete).toBe(true);
  });

  it.each(['queued', 'started', 'rate_limited'])(
    'a demo with an import that is %s is not complete, even if no stream is left',
    (status) => {
      const imports = [{ ...answers.imports[2], status }];
      const overview = { ...answers.overview, backfill: [] };
      expect(progressOf({ ...answers, imports, overview }).isComplete).toBe(false);
    },
  );
});

describe('milestones', () => {
  it('milestones reports the end of the import, half of the streams and the completion, once each', () => {
    const imported = { ...halfway, hasImported: true, importMessage: 'Completed: 900 activities imported' };
    const half = { ...imported, streams: { ...halfway.streams, done: 438, left: 435 } };
    const readings = [halfway, imported, imported, half, half, complete, complete];
    expect(readings.flatMap((now, index) => milestones(readings[index - 1], now))).toEqual([
      'demo: Completed: 900 activities imported',
      'demo: streams of 438 of 876 activities are here',
      'demo: complete, with streams of 873 activities (3 failed) and 4 nights: Oura 3, WHOOP 1',
    ]);
  });
});

describe('simulatedClock', () => {
  it('the simulated clock shows the end of a window at a quarter of an hour and the end of a day at midnight', () => {
    expect(clock.time(after(1), THURSDAY_MS)).toBe('00:15');
    expect(clock.time(after(96), THURSDAY_MS)).toBe('Friday 00:00');
    expect(clock.dayAndTime(after(96 + 38))).toBe('Friday 09:30');
  });

  it('the simulated clock rounds an end of a window that was reported a millisecond too early', () => {
    expect(clock.dayAndTime(new Date(THURSDAY_MS + QUARTER_MS - 1).toISOString())).toBe('Thursday 00:15');
  });

  it('with TIME_SCALE=1 the simulated clock shows the time in UTC', () => {
    expect(simulatedClock(1, THURSDAY_MS).dayAndTime('2026-11-19T14:15:00Z')).toBe('Thursday 14:15');
  });
});

describe('renderProgress', () => {
  it('the live block shows bars, the calls left with the time of their reset, and when everything will be here', () => {
    expect(textOf(draw(halfway, 100))).toMatchInlineSnapshot(`
     "
       demo athlete   simulated time: Thursday 00:08, 900 times as fast as ours
       activities  ██████████████████████░░░░░░░░░░ 620 of 900   goes on Friday 00:00
       streams     █████████████░░░░░░░░░░░░░░░░░░░ 370 of 876   done by Friday 06:00, 3 failed
       nights      4   Oura 3, WHOOP 1
       calls left  12 of 100 until 00:15 · 50 of 1,000 until Friday 00:00"
    `);
  });

  it('the live block says when the demo is complete', () => {
    const text = textOf(draw(complete, 100));
    expect(text).toContain('demo athlete   complete');
    expect(text).toMatch(/activities +█+ 900 of 900 +all here/);
    expect(text).toMatch(/streams +█+░ 873 of 876 +all here, 3 failed/);
  });

  it.each([20, 39, 60, 75, 79, 120])(
    'no line of the live block is longer than a terminal of %i columns',
    (columns) => {
      for (const progress of [halfway, complete])
        for (const { text, length } of draw(progress, columns)) {
          expect(text).toHaveLength(length);
          expect(length).toBeLessThanOrEqual(columns);
        }
    },
  );

  it.each([39, 60, 75, 79])(
    'in a terminal of %i columns the live block still shows all numbers',
    (columns) => {
      const text = textOf(draw(halfway, columns));
      for (const part of [
        '620 of 900',
        '370 of 876',
        'goes on Friday 00:00',
        'done by Friday 06:00',
        '12 of 100',
      ])
        expect(text).toContain(part);
    },
  );

  it('the live block shows no time for an estimate that has passed', () => {
    const late = { ...halfway, streams: { ...halfway.streams, eta: after(-1) } };
    expect(textOf(draw(late, 100))).toMatch(/370 of 876 +done soon, 3 failed$/m);
  });

  it('in a terminal of 80 columns the longest note of a bar is not cut', () => {
    const eta = after(96 * 6 + 38); // Wednesday is the longest name of a day
    const text = textOf(draw({ ...halfway, streams: { ...halfway.streams, failed: 12, eta } }, 79));
    expect(text).toMatch(/370 of 876 +done by Wednesday 09:30, 12 failed$/m);
  });

  it('with TIME_SCALE=1 the live block shows the time in UTC', () => {
    const context = {
      clock: simulatedClock(1, THURSDAY_MS),
      nowMs: THURSDAY_MS,
      columns: 79,
      hasColours: false,
    };
    expect(textOf(renderProgress(halfway, context))).toMatch(/demo athlete +Thursday \d\d:\d\d UTC$/m);
  });

  it('colours change no text of the live block, and their codes do not count in its lengths', () => {
    const plain = draw(halfway, 100);
    const coloured = draw(halfway, 100, true);
    const uncoloured = coloured.map(({ text }) => text.replaceAll(/\x1b\[\d+m/g, ''));
    expect(uncoloured).toEqual(plain.map(({ text }) => text));
    expect(coloured.map(({ length }) => length)).toEqual(plain.map(({ length }) => length));
    expect(coloured.map(({ text }) => text)).not.toEqual(uncoloured);
  });
});

describe('the block on a terminal', () => {
  it('rowsOnScreen counts the rows of lines that a narrower terminal has broken', () => {
    expect(rowsOnScreen([], 80)).toBe(0);
    expect(rowsOnScreen([0, 79, 80], 80)).toBe(3);
    expect(rowsOnScreen([0, 79, 80], 40)).toBe(5);
  });
});

describe('the live block on a terminal', () => {
  const program = (rest: string) => `
    import { endBlock, endLine, isTerminal, say, showBlock, step } from '${urlOf('terminal')}';
    const show = (...texts) => showBlock(() => texts.map((text) => ({ text, length: text.length })));
    ${rest}`;

  it('a new drawing replaces the block, lines printed meanwhile stay above it, and its last drawing stays', () => {
    const output = inTerminal(
      program(`
        await step('building', async () => {});
        show('import 1', 'streams 1', 'a line that goes');
        show('import 2', 'streams 2');
        say('pacekeeper was started again');
        show('import 3', 'streams 3');
        endLine();
        console.log('ready');
        show('import 4', 'streams 4');
        endBlock();
        say('stopping …');`),
    );
    expect(screenAfter(output)).toEqual([
      'building … 0.0 s',
      'pacekeeper was started again',
      'ready',
      'import 4',
      'streams 4',
      'stopping …',
      '',
    ]);
  });

  it('a block that is higher than the screen is cut, so that the cursor can reach its first line', () => {
    const lines = Array.from({ length: 40 }, (_, index) => `'line ${index}'`).join();
    const output = inTerminal(program(`show(${lines}); show(${lines}); endBlock();`));
    expect(screenAfter(output)).toHaveLength(24);
  });

  it('a dumb terminal counts as no terminal', () => {
    expect(inTerminal(program('console.log(String(isTerminal));'), { TERM: 'dumb' }).trim()).toBe('false');
    expect(inTerminal(program('console.log(String(isTerminal));')).trim()).toBe('true');
  });
});

describe('firstRequests', () => {
  it('each shown curl line reads its token from run.json, also if the path has quotes and spaces', () => {
    const description = { api: 'http://127.0.0.1:3000', tokens: { athlete: 'secret', admin: 'secret' } };
    const text = firstRequests(description, `/tmp/it's "mine"/run.json`);
    expect(text).not.toContain('secret');
    const lines = text.split('\n').filter((line) => line.includes('curl'));
    expect(lines).toHaveLength(3);
    for (const line of lines) {
      const shown = line.replace(/^ *curl/, `node() { printf '%s' "$2"; }; printf '%s\\n'`);
      const { stdout } = spawnSync('sh', ['-c', shown], { encoding: 'utf8' });
      expect(stdout).toMatch(
        /Bearer require\("\/tmp\/it's \\"mine\\"\/run\.json"\)\.tokens\.(athlete|admin)$/m,
      );
      expect(stdout).toContain('http://127.0.0.1:3000/');
    }
  });

  it('firstRequests shows nothing if this system cannot sign tokens', () => {
    const tokens = { athlete: null, other: null, admin: null };
    expect(firstRequests({ api: 'http://127.0.0.1:3000', tokens }, '/tmp/run.json')).toBe('');
  });
});
