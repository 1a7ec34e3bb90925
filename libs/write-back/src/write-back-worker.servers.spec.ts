import { randomUUID } from 'node:crypto';
import { afterAll, beforeAll, beforeEach, describe, expect, it } from '@jest/globals';
import { type Config, createLogger, type Database, timeScale } from '#platform';
import {
  CallUnwanted,
  type DetailedActivity,
  type StravaClient,
  StravaForbidden,
  StravaNotFound,
  StravaOutage,
  StravaRateLimited,
  type Who,
} from '#strava';
import { newAthlete } from '../../../test/harness/athletes.js';
import { openTestDatabase, type OpenDatabase } from '../../../test/harness/test-database.js';
import { PlannedWriteBacks } from './planned-write-backs.js';
import { WriteBackStore } from './write-back-store.js';
import { WriteBackWorker } from './write-back-worker.js';

const config = { strava: { writesBack: true } } as Config;
const silent = createLogger({ level: 'silent', process: 'test' });
const OURS = { name: '6 × 800 m', description: 'Even.' };
const UNTOUCHED = { name: 'Morning Run', description: null };

interface Words {
  readonly name: string;
  readonly description: string | null;
}

/** One activity at Strava. `answer`: what becomes of an edit that has arrived. */
class AtStrava {
  edits = 0;
  look: () => Promise<void> = () => Promise.resolve();
  answer: () => Promise<void> = () => Promise.resolve();

  constructor(public words: Words) {}

  async activity(who: Who): Promise<DetailedActivity> {
    if (!(await who.claim?.())) throw new CallUnwanted();
    await this.look();
    return this.words as DetailedActivity;
  }

  async updateActivity(who: Who, _id: string, words: Words): Promise<DetailedActivity> {
    if (!(await who.claim?.())) throw new CallUnwanted();
    this.edits += 1;
    this.words = words;
    await this.answer();
    return words as DetailedActivity;
  }
}

describe('writing back', () => {
  let open: OpenDatabase;
  let sql: Database;
  let store: WriteBackStore;
  let strava: AtStrava;
  let worker: WriteBackWorker;
  let activityId: string;
  let runId: string;

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
    new WriteBackWorker(store, one as unknown as StravaClient, config, timeScale(1), silent);

  /** An activity of a connected athlete that has been processed. */
  async function planned(athleteId: string, begun = '1 minute'): Promise<void> {
    await sql.query(
      `insert into connection (
         athlete_id, provider, vendor_athlete_id, scopes, access_token, refresh_token, key_version, expires_at
       )
       values ($1, 'strava', $2, '{read,activity:write}', '', '', 1, now())`,
      [athleteId, randomUUID()],
    );
    activityId = randomUUID();
    runId = randomUUID();
    await sql.query(
      `insert into activity (
         id, athlete_id, external_activity_id, name, imported_name, sport_type, start_time, distance_m, moving_time_s,
         elapsed_time_s, elevation_gain_m, manual, private, total_photo_count, asked_at, stream_fetch_status
       )
       values ($1, $2, '4711', 'Morning Run', 'Morning Run', 'Run', now() + $3::interval, 1, 1, 1, 0, false, false, 0, now(), 'success')`,
      [activityId, athleteId, begun],
    );
    await sql.query(
      `with job as (
         insert into jobs (activity_id, request_kind, requested_by, max_attempts) values ($1, 'auto_poll', 'test', 3)
         returning job_id
       ), state as (
         insert into activity_state (activity_id, state, last_title) values ($1, 'queued', $3)
       )
       insert into runs (run_id, job_id, activity_id, attempt_number, worker_owner, result_json)
       select $2, job_id, $1, 1, 'test', jsonb_build_object('description', $4::text)
       from job`,
      [activityId, runId, OURS.name, OURS.description],
    );
    await new PlannedWriteBacks(store, config).succeeded(sql, [runId]);
  }

  const row = async () => {
    const { rows } = await sql.query<{ status: string; reason: string | null; attempts: number }>(
      'select status, reason, attempts from write_back',
    );
    return rows[0];
  };
  /** As if whatever is waited for were over. */
  const later = () =>
    sql.query(`update write_back set due_at = now(), leased_until = leased_until - interval '1 hour'`);

  it('is done once, and never planned again', async () => {
    expect(await worker.runOnce()).toBe(true);
    expect(strava).toMatchObject({ edits: 1, words: OURS });
    expect(await row()).toMatchObject({ status: 'written', reason: null });
    await new PlannedWriteBacks(store, config).succeeded(sql, [runId]);
    expect(await worker.runOnce()).toBe(false);
    expect(strava.edits).toBe(1);
  });

  it('is not planned for what was begun before the athlete connected', async () => {
    await sql.query('delete from athlete');
    await planned(await newAthlete(sql), '-1 minute');
    expect(await row()).toBeUndefined();
  });

  it('is not done again where the answer was lost', async () => {
    strava.answer = () => Promise.reject(new StravaOutage('no answer in time'));
    await worker.runOnce();
    expect(await row()).toMatchObject({ status: 'pending', attempts: 1 });
    await later();
    await worker.runOnce();
    expect(await row()).toMatchObject({ status: 'written' });
    expect(strava.edits).toBe(1);
  });

  it('is done by who comes next where the call has not arrived', async () => {
    strava.look = () => Promise.reject(new StravaOutage('status 503'));
    await worker.runOnce();
    strava.look = () => Promise.resolve();
    await later();
    await worker.runOnce();
    expect([strava.edits, (await row())?.status]).toEqual([1, 'written']);
  });

  it('is not done by a worker that has slept through its lease', async () => {
    const successor = workerOn(strava);
    strava.look = async () => {
      strava.look = () => Promise.resolve();
      await later();
      await successor.runOnce();
    };
    await worker.runOnce();
    expect(strava.edits).toBe(1);
    expect(await row()).toMatchObject({ status: 'written', attempts: 2 });
  });

  it('waits for the budget without losing attempts', async () => {
    strava.look = () => Promise.reject(new StravaRateLimited('read 15min', 60_000, Date.now()));
    for (let n = 0; n < 8; n += 1) {
      await worker.runOnce();
      expect(await row()).toMatchObject({ status: 'pending', attempts: 0 });
      await later();
    }
    strava.look = () => Promise.resolve();
    await worker.runOnce();
    expect(await row()).toMatchObject({ status: 'written' });
  });

  it('is given up where nobody can say what has become of it, so often', async () => {
    strava.look = () => Promise.reject(new Error('of a kind that nobody has foreseen'));
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
    ['left', new StravaNotFound()],
    ['refused', new StravaForbidden('activity:write is missing')],
  ] as const)('is %s for good where Strava says no', async (status, error) => {
    strava.look = () => Promise.reject(error);
    await worker.runOnce();
    expect(await row()).toEqual({ status, reason: error.message, attempts: 1 });
  });

  it.each([
    ['{read,activity:read}', 'activity:write'],
    [null, 'not connected'],
  ])('asks nothing of Strava with a connection of %s', async (scopes, reason) => {
    if (scopes === null) await sql.query('delete from connection');
    else await sql.query('update connection set scopes = $1', [scopes]);
    strava.look = () => Promise.reject(new Error('asked'));
    await worker.runOnce();
    expect(await row()).toMatchObject({ status: 'refused', reason: expect.stringContaining(reason) });
  });

  it('goes with its activity', async () => {
    await sql.query('delete from activity');
    expect(await row()).toBeUndefined();
  });
});
