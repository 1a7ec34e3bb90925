import { describe, expect, it } from '@jest/globals';
import { register } from 'prom-client';
import { createLogger } from '../logging/logger.js';
import { SignedTimes } from './signed-times.js';

const AT_MS = 1_795_000_000_000;
const TOLERANCE = { earlierMs: 300_000, laterMs: 30_000 };

/** Judges times by a clock at `AT_MS`; returns the log lines too. */
function timesOf(signer: string) {
  const lines: Array<Record<string, unknown>> = [];
  const destination = { write: (line: string) => void lines.push(JSON.parse(line) as (typeof lines)[0]) };
  const logger = createLogger({ level: 'warn', process: 'test', destination });
  const times = new SignedTimes([signer], { nowMs: () => AT_MS }, logger);
  return { accepts: (atMs: number) => times.accepts(signer, atMs, TOLERANCE), lines };
}

const metric = () => register.getSingleMetricAsString('signed_time_refusals_seconds');

describe('SignedTimes', () => {
  it('SignedTimes accepts a time within the tolerance, both ends included, and counts only what it refuses', async () => {
    const { accepts, lines } = timesOf('exact');
    for (const atMs of [AT_MS, AT_MS - 300_000, AT_MS + 30_000]) expect(accepts(atMs)).toBe(true);
    for (const atMs of [AT_MS - 300_001, AT_MS + 30_001]) expect(accepts(atMs)).toBe(false);
    expect(lines).toHaveLength(1);
    expect(await metric()).toContain('signed_time_refusals_seconds_count{signer="exact",clock="ahead"} 1');
    expect(await metric()).toContain('signed_time_refusals_seconds_count{signer="exact",clock="behind"} 1');
  });

  it('SignedTimes counts each refusal with its difference, and logs one line a minute', async () => {
    const { accepts, lines } = timesOf('ten minutes');
    for (let time = 0; time < 3; time += 1) expect(accepts(AT_MS - 600_000)).toBe(false);
    expect(lines).toEqual([
      expect.objectContaining({ level: 'warn', signer: 'ten minutes', clock: 'ahead', seconds: 600 }),
    ]);
    const of = 'signer="ten minutes",clock="ahead"';
    expect(await metric()).toContain(`signed_time_refusals_seconds_count{${of}} 3`);
    expect(await metric()).toContain(`signed_time_refusals_seconds_sum{${of}} 1800`);
  });

  it('the sum of the differences stays finite if a signer writes an infinite time', async () => {
    const { accepts } = timesOf('endless');
    expect(accepts(Infinity)).toBe(false);
    expect(await metric()).toContain(
      `signed_time_refusals_seconds_sum{signer="endless",clock="behind"} ${365 * 86_400}`,
    );
  });

  it('the series of each signer begin at 0', async () => {
    timesOf('new');
    for (const clock of ['ahead', 'behind'])
      expect(await metric()).toContain(`signed_time_refusals_seconds_count{signer="new",clock="${clock}"} 0`);
  });
});
