import { beforeEach, describe, expect, it } from '@jest/globals';
import { register } from 'prom-client';
import { type Logger } from '../logging/logger.js';
import { Clock } from './clock.js';
import { ClockDifferences, differenceOf, secondsAtLeast } from './clock-differences.js';

/** A clock that a test moves. */
class ManualClock extends Clock {
  ms = 1_000_000;

  override nowMs(): number {
    return this.ms;
  }
}

describe('the differences between clocks', () => {
  let clock: ManualClock;
  let logged: Array<{ level: string; server: string; seconds: number }>;
  let differences: ClockDifferences;
  beforeEach(() => {
    register.resetMetrics();
    clock = new ManualClock();
    logged = [];
    const at = (level: string) => (line: { server: string; seconds: number }) =>
      void logged.push({ level, server: line.server, seconds: line.seconds });
    const logger = { info: at('info'), warn: at('warn'), debug: () => undefined } as unknown as Logger;
    differences = new ClockDifferences(clock, logger);
  });
  const metric = async () =>
    (await register.getSingleMetricAsString('clock_difference_seconds')).split('\n').slice(2);

  it.each([
    [10_000, 4, 10],
    [-10_000, 4, -10],
    [500, 4, 0.5],
    [0, 4, 0],
    // A slow answer may have been written at any moment of its way.
    [10_000, 4_000, 8],
    [1_000, 4_000, 0],
    [86_400_000, 4, 86_400],
  ])(
    'a server that is %d ms ahead and answers after %d ms differs by at least %d s',
    async (aheadMs, tookMs, s) => {
      const range = await differenceOf(() => {
        clock.ms += tookMs / 2;
        const timeMs = clock.ms + aheadMs;
        clock.ms += tookMs / 2;
        return Promise.resolve(timeMs);
      }, clock);
      expect(secondsAtLeast(range)).toBe(s);
    },
  );

  it('a difference above 2 s is a warning while it lasts, and is logged once when it begins and once when it ends', async () => {
    let aheadMs = 0;
    differences.watchServer('cellar', () => Promise.resolve(clock.ms + aheadMs));
    differences.watchServer('attic', () => Promise.resolve(clock.ms));
    const seen: unknown[] = [];
    for (aheadMs of [0, 2_000, 2_100, 2_100, -86_400_000, 1_000, 0]) {
      await differences.readAll();
      seen.push([differences.all(), differences.warning()]);
    }
    const warning = (text: string) => `Compared with this process's clock, cellar is ${text}`;
    expect(seen).toEqual([
      [{ cellar: 0, attic: 0 }, undefined],
      [{ cellar: 2, attic: 0 }, undefined],
      [{ cellar: 2.1, attic: 0 }, warning('2.1 s ahead')],
      [{ cellar: 2.1, attic: 0 }, warning('2.1 s ahead')],
      [{ cellar: -86_400, attic: 0 }, warning('86400 s behind')],
      [{ cellar: 1, attic: 0 }, undefined],
      [{ cellar: 0, attic: 0 }, undefined],
    ]);
    expect(logged).toEqual([
      { level: 'warn', server: 'cellar', seconds: 2.1 },
      { level: 'info', server: 'cellar', seconds: 1 },
    ]);
  });

  it('a server that does not answer has no difference, and one that hangs is asked once', async () => {
    let answer: () => Promise<number> = () => Promise.resolve(clock.ms + 5_000);
    let asked = 0;
    differences.watchServer('cellar', () => {
      asked += 1;
      return answer();
    });
    differences.watch('vendor', () => undefined);
    await differences.readAll();
    expect([differences.all(), await metric()]).toEqual([
      { cellar: 5 },
      ['clock_difference_seconds{server="cellar"} 5'],
    ]);
    answer = () => Promise.reject(new Error('gone'));
    await differences.readAll();
    expect([differences.all(), differences.warning(), await metric()]).toEqual([{}, undefined, []]);

    let thaw: (timeMs: number) => void = () => undefined;
    answer = () => new Promise((resolve) => (thaw = resolve));
    const frozen = differences.readAll();
    await differences.readAll();
    expect(asked).toBe(3);
    thaw(clock.ms);
    await frozen;
    expect(differences.all()).toEqual({ cellar: 0 });
  });
});
