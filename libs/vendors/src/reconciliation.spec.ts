import { describe, expect, it } from '@jest/globals';
import { createLogger, DependencyUnavailable, type Fenced, timeScale } from '#platform';
import { type CallFailure, type CallOutcome, ok } from './call/call-outcome.js';
import { type Reconcilable, type ReconciliationRows, reconciliationWork } from './reconciliation.js';

const MINUTE_MS = 60_000;
const DAY_MS = 86_400_000;
const CLAIM: Fenced = { fence: '1' };
const held = (isStopping: () => boolean = () => false) => ({
  signal: new AbortController().signal,
  isStopping,
  leaseMs: MINUTE_MS,
});

/** A reconciliation of two steps; records the steps and how the row is settled. */
function setting(last: CallOutcome<string> = ok('all')) {
  const log: string[] = [];
  const written = (what: string) => Promise.resolve(log.push(what) > 0);
  const rows: Pick<ReconciliationRows<Fenced>, 'postpone' | 'failed'> = {
    postpone: (_, ms) => written(`postponed ${ms}`),
    failed: (_, firstMs, longestMs) => written(`failed ${firstMs} to ${longestMs}`),
  };
  const feature: Reconcilable<Fenced, string> = {
    name: 'records',
    lease: { ms: MINUTE_MS },
    rows: rows as ReconciliationRows<Fenced>,
    claim: () => Promise.resolve(CLAIM),
    steps: async function* () {
      for (const step of [1, 2]) {
        await written(`step ${step}`);
        yield;
      }
      return last;
    },
    finish: (_, done) => written(`finished ${done}`),
    about: () => ({}),
  };
  const work = reconciliationWork(feature, timeScale(1), createLogger({ level: 'silent', process: 'test' }));
  return { work, log };
}

describe('the reconciliation of a kind of records', () => {
  it('a reconciliation takes all steps and finishes with their result', async () => {
    const { work, log } = setting();
    const outcome = await work.run(CLAIM, held());
    await work.settle(CLAIM, outcome);
    expect(log).toEqual(['step 1', 'step 2', 'finished all']);
  });

  it('a reconciliation ends after the present step while its process stops, and is due at once', async () => {
    const { work, log } = setting();
    const outcome = await work.run(
      CLAIM,
      held(() => log.length > 0),
    );
    await work.settle(CLAIM, outcome);
    expect(log).toEqual(['step 1', 'postponed 0']);
  });

  const limit: CallFailure = { kind: 'notNow', because: 'limit', retryAfterMs: 7, reason: '' };
  const failures: ReadonlyArray<readonly [string, CallFailure, string, boolean]> = [
    ['a full window', limit, 'postponed 7', true],
    ['an unavailable budget', { ...limit, because: 'budgetUnavailable' }, 'postponed 7', true],
    ['an app that is switched off', { ...limit, because: 'appInactive' }, 'postponed 7', true],
    ['a token that cannot be renewed', { ...limit, because: 'tokenUnavailable' }, 'failed', false],
    ['an ended consent', { kind: 'revoked', reason: '' }, `postponed ${10 * MINUTE_MS}`, false],
    ['a refusal', { kind: 'refused', status: 403, reason: '' }, `postponed ${DAY_MS}`, false],
    ['an outage', { kind: 'broken', because: 'outage', reason: '' }, 'failed', true],
    ['an odd answer', { kind: 'broken', because: 'malformed', reason: '' }, 'failed', false],
    ['a 404', { kind: 'gone', reason: '' }, 'failed', false],
  ];

  it.each(failures)('after %s, the row and the lane pause as documented', async (_, failure, row, pauses) => {
    const { work, log } = setting(failure);
    const outcome = await work.run(CLAIM, held());
    await work.settle(CLAIM, outcome);
    expect(log.at(-1)).toBe(row === 'failed' ? `failed ${10 * MINUTE_MS} to ${DAY_MS}` : row);
    expect(outcome.pauses ?? false).toBe(pauses);
  });

  it('the lane pauses no longer than until the vendor’s time has come, and as usual if the time is not known', async () => {
    const overIn = async (retryAfterMs: number) =>
      (await setting({ ...limit, retryAfterMs }).work.run(CLAIM, held())).overInMs;
    expect(await overIn(4_000)).toBe(4_000);
    expect(await overIn(0)).toBeUndefined();
  });

  it('pauses the lane after an outage of our own servers, and not after another error', () => {
    const { work } = setting();
    expect(work.failed(CLAIM, new DependencyUnavailable('postgres'))).toEqual({
      kind: 'failed',
      pauses: true,
    });
    expect(work.failed(CLAIM, new Error('a bug'))).toEqual({ kind: 'failed', pauses: false });
  });
});
