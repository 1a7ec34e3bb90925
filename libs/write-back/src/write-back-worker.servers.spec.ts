import { randomUUID } from 'node:crypto';
import { afterAll, beforeAll, beforeEach, describe, expect, it } from '@jest/globals';
import { register } from 'prom-client';
import { createLogger, type Database, fenceRejected, timeScale } from '#platform';
import { type RunKey } from '#processing';
import {
  type CallContext,
  type CallFailure,
  type CallOutcome,
  type DetailedActivity,
  ok,
  type ProductConfig,
  type Sources,
} from '#vendors';
import { newAthlete } from '../../../test/harness/athletes.js';
import { openTestDatabase, type OpenDatabase } from '../../../test/harness/test-database.js';
import { testWorkers } from '../../../test/harness/test-workers.js';
import { PlannedWriteBacks, type WriteBackClaim, WriteBackStore } from './write-back-store.js';
import { WriteBackWorker } from './write-back-worker.js';

const config = { vendors: { strava: { writesBack: true } } } as ProductConfig;
const silent = createLogger({ level: 'silent', process: 'test' });
const OURS = { name: '6 × 800 m', description: 'Even.' };
const UNTOUCHED = { name: 'Morning Run', description: null };

interface Words {
  readonly name: string;
  readonly description: string | null;
}

const UNCLAIMED: CallFailure = { kind: 'notNow', because: 'unclaimed', retryAfterMs: 0, reason: 'unclaimed' };
const OUTAGE: CallFailure = { kind: 'broken', because: 'outage', reason: 'no answer' };
const GONE: CallFailure = { kind: 'gone', reason: 'Strava answered 404' };
const FORBIDDEN: CallFailure = { kind: 'refused', status: 403, reason: 'activity:write is missing' };
const FULL: CallFailure = { kind: 'notNow', because: 'limit', retryAfterMs: 60_000, reason: 'full' };

type Answer = () => Promise<CallFailure | undefined>;

/** One activity at Strava. `look` runs at each read, `answer` after an edit has arrived. Either may make the call fail. */
class AtStrava {
  edits = 0;
  look: Answer = () => Promise.resolve(undefined);
  answer: Answer = () => Promise.resolve(undefined);

  constructor(public words: Words) {}

  async activity(context: CallContext): Promise<CallOutcome<DetailedActivity>> {
    if (!(await context.claim?.())) return UNCLAIMED;
    return (await this.look()) ?? ok(this.words as DetailedActivity);
  }

  async update(context: CallContext, _id: string, words: Words): Promise<CallOutcome<DetailedActivity>> {
    if (!(await context.claim?.())) return UNCLAIMED;
    this.edits += 1;
    this.words = words;
    return (await this.answer()) ?? ok(words as DetailedActivity);
  }
}

describe('WriteBackWorker', () => {
  let open: OpenDatabase;
  let sql: Database;
  let store: WriteBackStore;
  let strava: AtStrava;
  let worker: WriteBackWorker;
  let activityId: string;
  let run: RunKey;

  beforeAll(async () => {
    open = await openTestDatabase();
    sql = open.database;
    store = new WriteBackStore(sql);
  });
  afterAll(() => open.close());
  beforeEach(async () => {
    await sql.query('delete from athlete');
    strava = new AtStrava(UNTOUCHED);
    worker = workerOn(strava);
    await planned(await newAthlete(sql));
  });

  const workerOn = (one: AtStrava) =>
    new WriteBackWorker(
      store,
      { activities: () => one } as unknown as Sources,
      config,
      timeScale(1),
      testWorkers(),
      silent,
    );

  /** Plans the write-back of a processed activity of a connected athlete. */
  async function planned(athleteId: string, begun = '1 minute'): Promise<void> {
    await sql.query(
      `insert into connection (
         athlete_id, provider, vendor_athlete_id, scopes, access_token, refresh_token, key_version, expires_at
       )
       values ($1, 'strava', $2, '{read,activity:write}', '', '', 1, now())`,
      [athleteId, randomUUID()],
    );
    activityId = randomUUID();
    const runId = randomUUID();
    await sql.query(
      `insert into activity (
         provider, id, athlete_id, external_activity_id, name, imported_name, sport_type, start_time, distance_m, moving_time_s,
         elapsed_time_s, elevation_gain_m, manual, private, total_photo_count, asked_at, stream_fetch_status
       )
       values ('strava', $1, $2, '4711', 'Morning Run', 'Morning Run', 'Run', now() + $3::interval, 1, 1, 1, 0, false, false, 0, now(), 'success')`,
      [activityId, athleteId, begun],
    );
    await sql.query(
      `with job as (
         insert into jobs (athlete_id, activity_id, request_kind, requested_by, max_attempts)
         values ($5, $1, 'auto_poll', 'test', 3)
         returning job_id
       ), state as (
         insert into activity_state (athlete_id, activity_id, state, last_title) values ($5, $1, 'queued', $3)
       )
       insert into runs (athlete_id, run_id, job_id, activity_id, attempt_number, worker_owner, result_json)
       select $5, $2, job_id, $1, 1, 'test', jsonb_build_object('description', $4::text)
       from job`,
      [activityId, runId, OURS.name, OURS.description, athleteId],
    );
    run = { athlete_id: athleteId, run_id: runId };
    await new PlannedWriteBacks(store, config).succeeded(sql, [run]);
  }

  const row = async () => {
    const { rows } = await sql.query<{ status: string; reason: string | null; attempts: number }>(
      'select status, reason, attempts from write_back',
    );
    return rows[0];
  };
  /** Makes the write-back due and ends its lease. */
  const later = () =>
    sql.query(`update write_back set due_at = now(), leased_until = leased_until - interval '1 hour'`);

  it('a write-back is made once and never planned again', async () => {
    expect(await worker.runOnce()).toBe(true);
    expect(strava).toMatchObject({ edits: 1, words: OURS });
    expect(await row()).toMatchObject({ status: 'written', reason: null });
    await new PlannedWriteBacks(store, config).succeeded(sql, [run]);
    expect(await worker.runOnce()).toBe(false);
    expect(strava.edits).toBe(1);
  });

  it('no write-back is planned for an activity that began before the athlete connected', async () => {
    await sql.query('delete from athlete');
    await planned(await newAthlete(sql), '-1 minute');
    expect(await row()).toBeUndefined();
  });

  it('a write-back whose answer was lost is not sent again', async () => {
    strava.answer = () => Promise.resolve(OUTAGE);
    await worker.runOnce();
    expect(await row()).toMatchObject({ status: 'pending', attempts: 1 });
    await later();
    await worker.runOnce();
    expect(await row()).toMatchObject({ status: 'written' });
    expect(strava.edits).toBe(1);
  });

  it('the next attempt sends the write-back if an outage ended the first attempt before its write', async () => {
    strava.look = () => Promise.resolve(OUTAGE);
    await worker.runOnce();
    strava.look = () => Promise.resolve(undefined);
    await later();
    await worker.runOnce();
    expect([strava.edits, (await row())?.status]).toEqual([1, 'written']);
  });

  it('a worker that paused for longer than its lease sends no write-back', async () => {
    const successor = workerOn(strava);
    strava.look = async () => {
      strava.look = () => Promise.resolve(undefined);
      await later();
      await successor.runOnce();
      return undefined;
    };
    await worker.runOnce();
    expect(strava.edits).toBe(1);
    expect(await row()).toMatchObject({ status: 'written', attempts: 2 });
  });

  it.each([
    ['a full window', FULL],
    ['an outage before the write is sent', OUTAGE],
  ])('a write-back waits for the end of %s without using attempts', async (_, failure) => {
    strava.look = () => Promise.resolve(failure);
    for (let n = 0; n < 8; n += 1) {
      await worker.runOnce();
      expect(await row()).toMatchObject({ status: 'pending', attempts: 0 });
      await later();
    }
    strava.look = () => Promise.resolve(undefined);
    await worker.runOnce();
    expect(await row()).toMatchObject({ status: 'written' });
  });

  it('a write-back is refused after five attempts with unforeseen errors', async () => {
    strava.look = () => Promise.reject(new Error('an unforeseen error'));
    for (let n = 0; n < 5; n += 1) {
      await worker.runOnce();
      expect((await row())?.status).toBe('pending');
      await later();
    }
    await worker.runOnce();
    expect(await row()).toMatchObject({ status: 'refused' });
    expect(await worker.runOnce()).toBe(false);
  });

  it.each([
    ['left', GONE],
    ['refused', FORBIDDEN],
  ] as const)('a write-back ends for good after a 404 or a 403, as %s', async (status, failure) => {
    strava.look = () => Promise.resolve(failure);
    await worker.runOnce();
    expect(await row()).toEqual({ status, reason: failure.reason, attempts: 1 });
  });

  it.each([
    ['{read,activity:read}', 'activity:write'],
    [null, 'not connected'],
  ])('a write-back makes no call with scopes %s (null: no connection)', async (scopes, reason) => {
    if (scopes === null) await sql.query('delete from connection');
    else await sql.query('update connection set scopes = $1', [scopes]);
    strava.look = () => Promise.reject(new Error('asked'));
    await worker.runOnce();
    expect(await row()).toMatchObject({ status: 'refused', reason: expect.stringContaining(reason) });
  });

  it.each([
    ['written', () => Promise.resolve(undefined)],
    ['later', () => Promise.resolve(OUTAGE)],
    ['refused', () => Promise.resolve(FORBIDDEN)],
  ] as const)('write_backs_total counts an attempt as %s', async (result, look) => {
    register.resetMetrics();
    strava.look = look;
    await worker.runOnce();
    const { values } = await register.getSingleMetric('write_backs_total')!.get();
    expect(values).toEqual([expect.objectContaining({ labels: { result }, value: 1 })]);
  });

  const writes: ReadonlyArray<readonly [string, (claim: WriteBackClaim) => Promise<boolean>]> = [
    ['postponed', (claim) => store.postpone(claim, 'later', 60_000, false)],
    ['finished', (claim) => store.finish(claim, 'written', null)],
  ];

  it.each(writes)(
    'a write-back that another worker has claimed since is not %s, and the late write is counted',
    async (_, write) => {
      const frozen = (await store.claim(60_000))!;
      await later();
      await store.claim(60_000);
      const whole = async () => (await sql.query('select * from write_back')).rows;
      const claimed = await whole();
      fenceRejected.reset();
      expect(await write(frozen)).toBe(false);
      expect(await whole()).toEqual(claimed);
      expect((await fenceRejected.get()).values).toMatchObject([
        { labels: { kind: 'write_back' }, value: 1 },
      ]);
    },
  );

  it('a write-back is deleted with its activity', async () => {
    await sql.query('delete from activity');
    expect(await row()).toBeUndefined();
  });
});
