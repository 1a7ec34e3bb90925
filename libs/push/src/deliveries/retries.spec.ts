import { describe, expect, it } from '@jest/globals';
import fc from 'fast-check';
import { Circuit } from './circuit.js';
import { retryMs } from './retries.js';

const MINUTE = 60_000;
const HOUR = 60 * MINUTE;
const PAUSES = [
  5_000,
  5 * MINUTE,
  30 * MINUTE,
  2 * HOUR,
  5 * HOUR,
  10 * HOUR,
  14 * HOUR,
  20 * HOUR,
  24 * HOUR,
];

describe('retryMs', () => {
  it('retryMs has the pauses of the table, and none after the tenth failed attempt', () => {
    expect(Array.from({ length: 10 }, (_, n) => retryMs(n + 1, 0))).toEqual([...PAUSES, undefined]);
  });

  it('retryMs lengthens each pause by a tenth at most, and shortens none', () => {
    fc.assert(
      fc.property(
        fc.integer({ min: 1, max: 9 }),
        fc.double({ min: 0, max: 1, noNaN: true }),
        (attempt, random) => {
          const usual = PAUSES[attempt - 1] as number;
          expect(retryMs(attempt, random)).toBeGreaterThanOrEqual(usual);
          expect(retryMs(attempt, random)).toBeLessThanOrEqual(usual * 1.1);
        },
      ),
    );
  });
});

describe('a circuit', () => {
  it('a circuit allows eight attempts, none after eight failures in a row, and one as a probe after the pause', () => {
    const circuit = new Circuit(0);
    for (let failed = 0; failed < 8; failed += 1) {
      expect(circuit).toMatchObject({ slots: 8, pauseMs: 0 });
      circuit.failed();
    }
    expect(circuit).toMatchObject({ slots: 0, pauseMs: 5_000, failures: 8 });
    // These were in flight when it opened.
    circuit.failed();
    circuit.failed();
    expect(circuit).toMatchObject({ slots: 0, pauseMs: 5_000, failures: 8 });

    const probed = new Circuit(circuit.failures);
    expect(probed.slots).toBe(1);
    probed.failed();
    expect(probed).toMatchObject({ slots: 0, pauseMs: 10_000, failures: 9 });
  });

  it('a probe that succeeds closes the circuit', () => {
    const circuit = new Circuit(12);
    circuit.succeeded();
    expect(circuit).toMatchObject({ slots: 8, pauseMs: 0, failures: 0, hasSucceeded: true });
  });

  it('failed probes double the pause up to five minutes', () => {
    const pauses = Array.from({ length: 9 }, (_, n) => new Circuit(8 + n).pauseMs / 1_000);
    expect(pauses).toEqual([5, 10, 20, 40, 80, 160, 300, 300, 300]);
  });
});
