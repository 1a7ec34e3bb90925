import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { type Database, loadSql, timeScale } from '#platform';
import { newAthlete } from '../../../../test/harness/athletes.js';
import { plansOf, waysInto } from '../../../../test/harness/plans.js';
import { openTestDatabase, type OpenDatabase } from '../../../../test/harness/test-database.js';
import { newActivity, stateOf } from '../streams.harness.js';
import { FailedFetches } from './failed-fetches.js';
import { retryArguments } from './retry-policy.js';
import { StreamFetches } from './stream-fetches.js';

const SCALE = timeScale(1);
const MINUTE_MS = 60_000;

describe('failed stream fetches', () => {
  let open: OpenDatabase;
  let sql: Database;
  let failed: FailedFetches;
  beforeAll(async () => {
    open = await openTestDatabase();
    sql = open.database;
    failed = new FailedFetches(sql, SCALE);
  });
  afterAll(() => open.close());

  it('lists failures by their reason, most frequent first, with counts and the five newest activities', async () => {
    const athlete = await newAthlete(sql);
    for (let n = 1; n <= 7; n += 1)
      await newActivity(sql, athlete, {
        status: 'failed',
        error: 'answered 500',
        retries: n <= 3 ? 3 : 1,
        attempted: `${n} hours`,
      });
    const once = await newActivity(sql, athlete, {
      status: 'failed',
      error: 'malformed',
      retries: 1,
      attempted: '20 seconds',
    });
    await newActivity(sql, athlete, { status: 'pending' });
    const [most, other, ...none] = await failed.byReason();
    expect(most).toMatchObject({ error: 'answered 500', count: 7, stuck: 3, retrying: 4 });
    // The rows were inserted one after the other, within much less than a minute.
    const apartMs = most!.newest_at.getTime() - most!.oldest_at.getTime();
    expect(Math.round(apartMs / MINUTE_MS)).toBe(6 * 60);
    expect(most!.samples).toHaveLength(5);
    expect(most!.samples[0]).toMatchObject({ athlete_id: athlete, name: 'Ride', retry_at: null });
    expect(most!.samples[4]!.retry_at).toBeInstanceOf(Date);
    expect(other).toMatchObject({ error: 'malformed', count: 1, samples: [{ activity_id: once }] });
    // The first retry comes a minute after the attempt.
    const retryAtMs = other!.samples[0]!.retry_at!.getTime();
    expect(retryAtMs - other!.newest_at.getTime()).toBe(MINUTE_MS);
    expect(none).toEqual([]);
    expect(await failed.byReason('malformed')).toEqual([other]);
    expect(await failed.byReason('unheard of')).toEqual([]);
  });

  it('resets failed fetches by reason, by athlete and by both, but none that was attempted later', async () => {
    const [ann, bob] = [await newAthlete(sql), await newAthlete(sql)];
    const one = async (athlete: string, error: string, attempted = '1 hour') =>
      newActivity(sql, athlete, { status: 'failed', error, retries: 3, fence: 7, attempted });
    const a = await one(ann, 'x');
    const b = await one(ann, 'y');
    const c = await one(bob, 'x');
    const later = await one(bob, 'x', '-1 minute');
    const now = await sql.now();
    expect(await failed.count(sql, { error: 'x' }, now)).toBe(2);
    expect(await failed.resetSome(sql, { error: 'x', athleteId: ann }, now, 10)).toEqual([ann]);
    expect(await stateOf(sql, a)).toMatchObject({ status: 'pending', error: null, retries: 0, fence: 8 });
    expect((await stateOf(sql, c)).status).toBe('failed');
    expect(await failed.resetSome(sql, { error: 'x' }, now, 10)).toEqual([bob]);
    expect(await failed.resetSome(sql, { athleteId: ann }, now, 10)).toEqual([ann]);
    const states = [(await stateOf(sql, b)).status, (await stateOf(sql, later)).status];
    expect(states).toEqual(['pending', 'failed']);
  });

  it('resets no more than the limit, and leaves out a fetch that another transaction has locked', async () => {
    const athlete = await newAthlete(sql);
    const ids: string[] = [];
    for (let n = 0; n < 3; n += 1)
      ids.push(await newActivity(sql, athlete, { status: 'failed', error: 'x', attempted: '1 hour' }));
    const filter = { athleteId: athlete };
    const now = await sql.now();
    await sql.transaction(async (locking) => {
      await locking.query('select from activity where id = $1 for update', [ids[0]]);
      expect(await failed.resetSome(sql, filter, now, 1)).toHaveLength(1);
      expect(await failed.resetSome(sql, filter, now, 10)).toHaveLength(1);
      expect(await failed.resetSome(sql, filter, now, 10)).toHaveLength(0);
    });
    expect(await failed.count(sql, filter, now)).toBe(1);
    expect(await failed.resetSome(sql, filter, now, 10)).toHaveLength(1);
  });

  it('a failure with a very long reason is stored with the first 500 characters', async () => {
    const id = await newActivity(sql, await newAthlete(sql), { status: 'pending' });
    const fetches = new StreamFetches(sql, SCALE);
    expect(await fetches.fail((await fetches.claim(id))!, '€'.repeat(4_000))).toBe(true);
    expect((await stateOf(sql, id)).error).toBe('€'.repeat(500));
  });
});

// Larger runs: ACTIVITIES=1000000.
const MANY = Number(process.env.ACTIVITIES ?? 100_000);

describe(`with ${MANY} activities of which one in fifty has failed`, () => {
  let open: OpenDatabase;
  let sql: Database;
  beforeAll(async () => {
    open = await openTestDatabase([], { poolSize: 1, statementTimeoutMs: 600_000 });
    sql = open.database;
    const athlete = await newAthlete(sql);
    await sql.query(
      `insert into activity (
         provider, athlete_id, external_activity_id, name, sport_type, start_time, distance_m, moving_time_s, elapsed_time_s,
         elevation_gain_m, manual, private, total_photo_count, asked_at, stream_fetch_status, stream_fetch_error,
         stream_fetch_retry_count, stream_fetch_attempted_at
       )
       select
         'strava', $1, n, '', 'Ride', now() - n * interval '1 minute', 1, 1, 1,
         1, false, false, 0, now(), case when n % 50 = 0 then 'failed' else 'success' end,
         case when n % 50 = 0 then 'reason ' || n / 50 % 8 end, 1 + n % 3, now() - n * interval '1 second'
       from generate_series(1, $2::int) as n`,
      [athlete, MANY],
    );
    await sql.query('vacuum analyze activity');
  }, 600_000);
  afterAll(() => open.close());

  it('reads the reasons of failures and resets a reason without reading the other activities', async () => {
    const statement = (file: string) => loadSql(import.meta.url, `./sql/${file}.sql`).text;
    const lists = [...retryArguments(SCALE), null, 5, 100];
    for (const plan of await plansOf(sql, statement('list-failures'), lists))
      expect(waysInto('activity', plan)).toEqual(['activity_stream_failed']);
    const filter = ['reason 3', null, '2100-01-01'];
    for (const plan of await plansOf(sql, statement('count-failed'), filter))
      expect(waysInto('activity', plan)).toEqual(['activity_stream_failed']);
    for (const plan of await plansOf(sql, statement('reset-failed'), [...filter, 10]))
      expect(waysInto('activity', plan)).toEqual(['activity_pkey', 'activity_stream_failed']);
    const failed = new FailedFetches(sql, SCALE);
    const beganAtMs = performance.now();
    const groups = await failed.byReason();
    const tookMs = performance.now() - beganAtMs;
    expect(groups.map(({ count }) => count)).toEqual(Array.from({ length: 8 }, () => MANY / 400));
    expect(tookMs).toBeLessThan(1_000);
  }, 120_000);
});
