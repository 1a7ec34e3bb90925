import { afterEach, beforeEach, describe, expect, it, jest } from '@jest/globals';
import { timeScale } from '../clock/clock.js';
import { DependencyUnavailable } from '../errors/app-error.js';
import { HealthRegistry } from '../health/health-registry.js';
import { createLogger } from '../logging/logger.js';
import { ClaimLost } from './fence.js';
import { type Held, type Outcome, type Work, Worker } from './worker.js';
import { Workers } from './workers.js';

const logger = createLogger({ level: 'silent', process: 'test' });
const LEASE_MS = 9_000;
const POLL_MS = 1_000;
const MINUTE_MS = 60_000;

describe('a worker', () => {
  beforeEach(() => void jest.useFakeTimers());
  afterEach(() => void jest.useRealTimers());

  /** Work of rows 1, 2, 3 …, each due once. Runs end when the test resolves them. */
  function aWork(rows: number, change: Partial<Work<number, Outcome>> = {}) {
    const due = Array.from({ length: rows }, (_, index) => index + 1);
    const settled: Array<[number, string]> = [];
    const held = new Map<number, Held & { end: (outcome: Outcome) => void; fail: (error: Error) => void }>();
    const work: Work<number, Outcome> = {
      name: 'rows',
      lease: { ms: LEASE_MS },
      everyMs: POLL_MS,
      claim: () => Promise.resolve(due.shift()),
      renew: () => Promise.resolve(true),
      run: (row, by) => new Promise((end, fail) => held.set(row, { ...by, end, fail })),
      failed: () => ({ kind: 'failed', pauses: true }),
      settle: (row, { kind }) => {
        settled.push([row, kind]);
        return Promise.resolve(true);
      },
      ...change,
    };
    const worker = new Worker(work, timeScale(1), logger);
    return { worker, held, settled, due };
  }

  const turn = () => jest.advanceTimersByTimeAsync(0);
  const finished = { kind: 'finished' };

  it('a worker works as many rows at the same time as it has lanes', async () => {
    const { worker, held, settled } = aWork(3, { lanes: 2 });
    worker.start();
    await turn();
    expect([...held.keys()]).toEqual([1, 2]);
    held.get(1)?.end(finished);
    await turn();
    expect([...held.keys()]).toEqual([1, 2, 3]);
    expect(settled).toEqual([[1, 'finished']]);
  });

  it('while nothing is due only the first lane looks for work, and each lane that finds some wakes the next', async () => {
    let claims = 0;
    const rows: number[] = [];
    const claim = () => {
      claims += 1;
      return Promise.resolve(rows.shift());
    };
    const { worker, held } = aWork(0, { lanes: 3, claim });
    worker.start();
    await turn();
    claims = 0;
    await jest.advanceTimersByTimeAsync(10 * POLL_MS);
    expect(claims).toBe(10);
    rows.push(1, 2, 3);
    await jest.advanceTimersByTimeAsync(POLL_MS);
    expect([...held.keys()]).toEqual([1, 2, 3]);
  });

  it('while the first lanes are busy the next one finds a row that becomes due within its pause, and the others rest', async () => {
    let claims = 0;
    const rows = [1, 2];
    const claim = () => {
      claims += 1;
      return Promise.resolve(rows.shift());
    };
    const { worker, held } = aWork(0, { lanes: 4, claim });
    worker.start();
    await turn();
    expect([...held.keys()]).toEqual([1, 2]);
    claims = 0;
    await jest.advanceTimersByTimeAsync(10 * POLL_MS);
    expect(claims).toBe(10);
    rows.push(3);
    await jest.advanceTimersByTimeAsync(POLL_MS);
    expect([...held.keys()]).toEqual([1, 2, 3]);
    for (const row of [1, 2, 3]) held.get(row)?.end(finished);
    await jest.advanceTimersByTimeAsync(POLL_MS);
    claims = 0;
    await jest.advanceTimersByTimeAsync(10 * POLL_MS);
    expect(claims).toBe(10);
  });

  it('an idle lane looks again after its pause, and at once when it is woken', async () => {
    const { worker, held, due } = aWork(0);
    worker.start();
    await turn();
    due.push(1);
    await jest.advanceTimersByTimeAsync(POLL_MS - 1);
    expect(held.size).toBe(0);
    await jest.advanceTimersByTimeAsync(1);
    expect(held.size).toBe(1);
    held.get(1)?.end(finished);
    await turn();
    due.push(2);
    worker.wake();
    await turn();
    expect(held.size).toBe(2);
  });

  it('a lane pauses after an outcome that may concern all rows', async () => {
    const { worker, held } = aWork(2);
    worker.start();
    await turn();
    held.get(1)?.end({ kind: 'notNow', pauses: true });
    await jest.advanceTimersByTimeAsync(POLL_MS - 1);
    expect(held.size).toBe(1);
    await jest.advanceTimersByTimeAsync(1);
    expect(held.size).toBe(2);
  });

  it('a lane pauses no longer than the reason of its pause lasts', async () => {
    const { worker, held } = aWork(3);
    worker.start();
    await turn();
    held.get(1)?.end({ kind: 'notNow', pauses: true, overInMs: 40 });
    await jest.advanceTimersByTimeAsync(40);
    expect(held.size).toBe(2);
    held.get(2)?.end({ kind: 'notNow', pauses: true, overInMs: 2 * POLL_MS });
    await jest.advanceTimersByTimeAsync(POLL_MS);
    expect(held.size).toBe(3);
  });

  it('drain works rows until none is due, or until an outcome pauses, and returns the number of attempts', async () => {
    const run = (row: number) => Promise.resolve({ kind: 'finished', pauses: row === 2 });
    const { worker, settled } = aWork(3, { run });
    expect(await worker.drain()).toBe(2);
    expect(await worker.drain()).toBe(1);
    expect(await worker.drain()).toBe(0);
    expect(settled).toHaveLength(3);
  });

  it('an unexpected error of a run becomes the outcome that the work names for it', async () => {
    const { worker, settled } = aWork(1, { run: () => Promise.reject(new Error('a bug')) });
    expect(await worker.runOne()).toEqual({ kind: 'failed', pauses: true });
    expect(settled).toEqual([[1, 'failed']]);
  });

  it('an outcome that cannot be written is replaced by that of an unexpected error, unless Postgres is away', async () => {
    const written: string[] = [];
    let error: Error = new Error('a bug');
    const { worker } = aWork(2, {
      run: () => Promise.resolve(finished),
      settle: (_, { kind }) =>
        kind === 'finished' ? Promise.reject(error) : Promise.resolve(written.push(kind) > 0),
    });
    expect(await worker.runOne()).toMatchObject({ kind: 'failed' });
    error = new DependencyUnavailable('postgres');
    await expect(worker.runOne()).rejects.toBe(error);
    expect(written).toEqual(['failed']);
  });

  it.each([
    ['a run that lost its claim writes no outcome', { run: () => Promise.reject(new ClaimLost()) }],
    ['an outcome whose fence does not match ends the attempt', { settle: () => Promise.resolve(false) }],
  ])('%s', async (_, change) => {
    const run = () => Promise.resolve(finished);
    const { worker, settled } = aWork(1, { run, ...change });
    expect(await worker.runOne()).toEqual({ kind: 'fenced' });
    expect(settled).toEqual([]);
  });

  it('a run is told that its lease is lost, and its error then writes no outcome', async () => {
    const { worker, held, settled } = aWork(1, { renew: () => Promise.resolve(false) });
    const running = worker.runOne();
    await jest.advanceTimersByTimeAsync(LEASE_MS / 3);
    expect(held.get(1)?.signal.aborted).toBe(true);
    held.get(1)?.fail(new Error('aborted'));
    expect(await running).toEqual({ kind: 'fenced' });
    expect(settled).toEqual([]);
  });

  it('the lease is renewed until the outcome is written', async () => {
    let renewals = 0;
    let write: (isOurs: boolean) => void = () => undefined;
    const { worker } = aWork(1, {
      renew: () => Promise.resolve(++renewals > 0),
      run: () => Promise.resolve(finished),
      settle: () => new Promise((resolve) => (write = resolve)),
    });
    const running = worker.runOne();
    await jest.advanceTimersByTimeAsync(LEASE_MS);
    expect(renewals).toBe(3);
    write(true);
    await running;
    await jest.advanceTimersByTimeAsync(LEASE_MS);
    expect(renewals).toBe(3);
  });

  it('stop waits for the rows that are worked, also without lanes, and claims nothing more', async () => {
    const { worker, held, settled } = aWork(2, { everyMs: undefined });
    void worker.runOne();
    await turn();
    let isStopped = false;
    const stopping = worker.stop().then(() => (isStopped = true));
    await turn();
    expect(held.get(1)?.isStopping()).toBe(true);
    expect(isStopped).toBe(false);
    held.get(1)?.end(finished);
    await stopping;
    expect(settled).toEqual([[1, 'finished']]);
    expect(await worker.runOne()).toBeUndefined();
  });

  it('readiness names a worker that could claim nothing for a minute, until a claim succeeds', async () => {
    let isAway = true;
    const health = new HealthRegistry();
    const workers = new Workers(health, timeScale(1), logger);
    const worker = workers.of<number, Outcome>({
      name: 'rows',
      lease: { ms: LEASE_MS },
      everyMs: POLL_MS,
      claim: () => (isAway ? Promise.reject(new Error('postgres is away')) : Promise.resolve(undefined)),
      renew: () => Promise.resolve(true),
      run: () => Promise.resolve(finished),
      failed: () => finished,
      settle: () => Promise.resolve(true),
    });
    const probe = () => health.all().get('rows')?.();
    worker.start();
    await jest.advanceTimersByTimeAsync(MINUTE_MS);
    expect(probe).not.toThrow();
    await jest.advanceTimersByTimeAsync(2 * POLL_MS);
    expect(probe).toThrow('nothing could be claimed for a minute');
    isAway = false;
    await jest.advanceTimersByTimeAsync(2 * POLL_MS);
    expect(probe).not.toThrow();
  });
});
