import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import fc from 'fast-check';
import { type Database, NotFound, timeScale } from '#platform';
import { newAthlete } from '../../../../test/harness/athletes.js';
import { modelRuns } from '../../../../test/harness/model-runs.js';
import { openPool, openTestDatabase, type OpenDatabase } from '../../../../test/harness/test-database.js';
import { aStored, FETCHED_AT, newActivity, passTime, stateOf, streamOf } from '../streams.harness.js';
import { type FetchClaim, type FetchStatus, StreamFetches } from './stream-fetches.js';
import { STALE_AFTER_MS } from './retry-policy.js';

// Before a release this test runs with MODEL_RUNS=2000.
const ACTIVITIES = 2;
const WORKERS = 3;
const OUTCOMES = ['succeed', 'fail', 'defer', 'defer empty', 'give up'] as const;
type Outcome = (typeof OUTCOMES)[number];

/** A claim that a worker got, current or lost, and the number that identifies its data. */
interface Held {
  readonly activity: number;
  readonly worker: number;
  readonly claim: FetchClaim;
  readonly number: number;
}

describe('the claims of several workers', () => {
  let open: OpenDatabase;
  let pools: Array<Awaited<ReturnType<typeof openPool>>>;
  let workers: StreamFetches[];
  let athleteId: string;
  beforeAll(async () => {
    open = await openTestDatabase();
    pools = await Promise.all(Array.from({ length: WORKERS }, () => openPool(open.url)));
    workers = pools.map(({ database }) => new StreamFetches(database, timeScale(1)));
    athleteId = await newAthlete(open.database);
  });
  afterAll(async () => {
    await Promise.all(pools.map((pool) => pool.close()));
    await open.close();
  });

  it('stream fetches agree with a model for any order of claims, writes, pauses, cleanups, resets and deletions', async () => {
    const activity = fc.nat(ACTIVITIES - 1);
    const worker = fc.nat(WORKERS - 1);
    const which = fc.nat(1_000);
    const event = fc.oneof(
      { weight: 10, arbitrary: fc.tuple(fc.constant('claim' as const), activity, worker) },
      { weight: 5, arbitrary: fc.tuple(fc.constant('claim together' as const), activity, worker) },
      // Chosen from all claims of the run, so that most of them are lost.
      { weight: 10, arbitrary: fc.tuple(fc.constant('end' as const), which, fc.constantFrom(...OUTCOMES)) },
      {
        weight: 4,
        arbitrary: fc.tuple(fc.constant('end newest' as const), which, fc.constantFrom(...OUTCOMES)),
      },
      {
        weight: 4,
        arbitrary: fc.tuple(fc.constant('end together' as const), activity, fc.constantFrom(...OUTCOMES)),
      },
      // Minutes: shorter than STALE_AFTER_MS, longer, and longer than every delay.
      {
        weight: 8,
        arbitrary: fc.tuple(fc.constant('pause' as const), fc.constantFrom(2, 6, 11, 60), worker),
      },
      { weight: 4, arbitrary: fc.tuple(fc.constant('clean up' as const), activity, worker) },
      { weight: 2, arbitrary: fc.tuple(fc.constant('clean up together' as const), activity, worker) },
      { weight: 3, arbitrary: fc.tuple(fc.constant('reset' as const), activity, worker) },
      { weight: 1, arbitrary: fc.tuple(fc.constant('delete' as const), activity, worker) },
    );
    await fc.assert(
      fc.asyncProperty(fc.array(event, { minLength: 5, maxLength: 50 }), async (events) => {
        const run = await Run.begin(open.database, workers, athleteId);
        for (const one of events) {
          if (one[0] === 'claim') await run.claim(one[1], one[2]);
          else if (one[0] === 'claim together') await run.claimTogether(one[1]);
          else if (one[0] === 'end') await run.end(run.held[one[1] % run.held.length], one[2]);
          else if (one[0] === 'end newest') await run.end(run.held.at(-1), one[2]);
          else if (one[0] === 'end together') await run.endTogether(one[1], one[2]);
          else if (one[0] === 'pause') await run.pause(one[1]);
          else if (one[0] === 'clean up') await run.cleanUp([one[2]]);
          else if (one[0] === 'clean up together') await run.cleanUp([0, 1, 2, 0, 1, 2]);
          else if (one[0] === 'reset') await run.reset(one[1], one[2]);
          else await run.delete(one[1]);
          await run.compare();
        }
      }),
      modelRuns(60),
    );
  });
});

/** Applies one sequence of events to the database and to the model. */
class Run {
  readonly held: Held[] = [];
  private readonly seen = new Map<string, unknown>();

  private constructor(
    private readonly sql: Database,
    private readonly workers: readonly StreamFetches[],
    private readonly ids: readonly string[],
    private readonly models: readonly Model[],
  ) {}

  static async begin(sql: Database, workers: readonly StreamFetches[], athleteId: string): Promise<Run> {
    await sql.query('delete from activity');
    const ids: string[] = [];
    for (let n = 0; n < ACTIVITIES; n += 1) ids.push(await newActivity(sql, athleteId));
    return new Run(
      sql,
      workers,
      ids,
      ids.map(() => new Model()),
    );
  }

  async claim(activity: number, worker: number): Promise<void> {
    const claim = await this.workers[worker]!.claim(this.ids[activity]!);
    const fence = this.models[activity]!.claim();
    expect(claim?.fence).toBe(fence);
    if (claim) this.take(activity, worker, claim);
  }

  async claimTogether(activity: number): Promise<void> {
    const claimants = [...this.workers.keys(), ...this.workers.keys()];
    const claims = await Promise.all(
      claimants.map((worker) => this.workers[worker]!.claim(this.ids[activity]!)),
    );
    const fence = this.models[activity]!.claim();
    expect(claims.flatMap((claim) => claim?.fence ?? [])).toEqual(fence === undefined ? [] : [fence]);
    claims.forEach((claim, index) => claim && this.take(activity, claimants[index]!, claim));
  }

  async end(held: Held | undefined, how: Outcome): Promise<void> {
    if (!held) return;
    const isWritten = await this.write(held, how);
    expect(isWritten).toBe(this.models[held.activity]!.end(held, how));
  }

  /** Every worker that ever claimed the activity writes at the same time. */
  async endTogether(activity: number, how: Outcome): Promise<void> {
    const all = this.held.filter((held) => held.activity === activity);
    const answers = await Promise.all(all.map((held) => this.write(held, how)));
    expect(answers).toEqual(all.map((held) => this.models[activity]!.end(held, how)));
  }

  async pause(minutes: number): Promise<void> {
    await passTime(this.sql, this.ids, `${minutes} minutes`);
    for (const model of this.models) model.minute += minutes;
  }

  async cleanUp(cleaners: readonly number[]): Promise<void> {
    const taken = await Promise.all(cleaners.map((worker) => this.workers[worker]!.cleanUp(STALE_AFTER_MS)));
    const expected = this.ids.filter((_, activity) => this.models[activity]!.cleanUp());
    const ids = taken.flat().map(({ id }) => id);
    expect(ids.sort()).toEqual(expected.sort());
  }

  async reset(activity: number, worker: number): Promise<void> {
    const resetting = this.workers[worker]!.reset(this.ids[activity]!);
    if (this.models[activity]!.reset()) expect(await resetting).toMatchObject({ status: 'pending' });
    else await expect(resetting).rejects.toThrow(NotFound);
  }

  async delete(activity: number): Promise<void> {
    await this.sql.query('delete from activity where id = $1', [this.ids[activity]]);
    this.models[activity]!.isDeleted = true;
  }

  async compare(): Promise<void> {
    for (const [activity, id] of this.ids.entries()) {
      const model = this.models[activity]!;
      const stream = await streamOf(this.sql, id);
      if (model.isDeleted) {
        expect(stream).toBeUndefined();
        continue;
      }
      const { status, error, retries, empties, fence } = await stateOf(this.sql, id);
      expect({ status, error, retries, empties, fence }).toEqual(model.state);
      expect(stream?.stream_data).toEqual(model.stored && { time: [0, 1], watts: [model.stored, null] });
      // The row keeps its xmin: no later worker has written it again, not even with equal values.
      const key = `${id} ${model.stored}`;
      if (!this.seen.has(key)) this.seen.set(key, stream);
      expect(stream).toEqual(this.seen.get(key));
    }
  }

  private take(activity: number, worker: number, claim: FetchClaim): void {
    this.held.push({ activity, worker, claim, number: this.held.length + 1 });
  }

  private async write({ claim, worker, number }: Held, how: Outcome): Promise<boolean> {
    const by = this.workers[worker]!;
    switch (how) {
      case 'succeed':
        return by.succeed(claim, 'strava', FETCHED_AT, await aStored(claim.id, number));
      case 'fail':
        return by.fail(claim, `no answer to ${number}`);
      case 'defer':
      case 'defer empty':
        return by.defer(claim, { reason: `later ${number}`, forMs: 900_000, isEmpty: how === 'defer empty' });
      case 'give up':
        return by.giveUp(claim);
    }
  }
}

/** The expected state of one activity. Time is in minutes. */
class Model {
  minute = 0;
  isDeleted = false;
  /** The number of the claim whose data is stored. */
  stored: number | undefined;
  private attemptedAt = 0;
  private deferredUntil = 0;
  state: { status: FetchStatus; error: string | null; retries: number; empties: number; fence: number } = {
    status: 'pending',
    error: null,
    retries: 0,
    empties: 0,
    fence: 0,
  };

  claim(): string | undefined {
    if (this.isDeleted || this.minute < this.dueAt()) return undefined;
    this.state.status = 'fetching';
    this.state.fence += 1;
    this.attemptedAt = this.minute;
    return String(this.state.fence);
  }

  end({ claim, number }: Held, how: Outcome): boolean {
    const { state } = this;
    if (this.isDeleted || state.status !== 'fetching' || claim.fence !== String(state.fence)) return false;
    if (how === 'succeed') {
      Object.assign(state, { status: 'success', error: null });
      this.stored = number;
    } else if (how === 'fail') {
      Object.assign(state, { status: 'failed', error: `no answer to ${number}`, retries: state.retries + 1 });
    } else if (how === 'give up') {
      Object.assign(state, { status: 'unavailable', error: null });
    } else {
      Object.assign(state, { status: 'deferred', error: `later ${number}` });
      state.empties += how === 'defer empty' ? 1 : 0;
      this.deferredUntil = this.minute + 15;
    }
    return true;
  }

  cleanUp(): boolean {
    const { state } = this;
    if (this.isDeleted || state.status !== 'fetching' || this.minute < this.attemptedAt + 10) return false;
    Object.assign(state, { status: 'failed', error: 'fetching_timeout_cleanup' });
    state.retries += 1;
    state.fence += 1;
    return true;
  }

  reset(): boolean {
    if (this.isDeleted) return false;
    this.state = { status: 'pending', error: null, retries: 0, empties: 0, fence: this.state.fence + 1 };
    return true;
  }

  private dueAt(): number {
    const { status, retries } = this.state;
    if (status === 'pending') return 0;
    if (status === 'deferred') return this.deferredUntil;
    if (status === 'failed' && retries < 3) return this.attemptedAt + [1, 5][retries - 1]!;
    return Infinity;
  }
}
