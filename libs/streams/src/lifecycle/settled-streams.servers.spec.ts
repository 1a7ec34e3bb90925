import { afterAll, beforeAll, beforeEach, describe, expect, it } from '@jest/globals';
import { type Database, loadSql } from '#platform';
import { newAthlete } from '../../../../test/harness/athletes.js';
import { openTestDatabase, type OpenDatabase } from '../../../../test/harness/test-database.js';
import { newActivity } from '../streams.harness.js';
import { FETCH_STATUSES } from './stream-fetches.js';
import { SettledStreams } from './settled-streams.js';

describe('activities whose streams are settled', () => {
  let open: OpenDatabase;
  let sql: Database;
  let ann: string;
  const settled = new SettledStreams();
  beforeAll(async () => {
    open = await openTestDatabase();
    sql = open.database;
  });
  afterAll(() => open.close());
  beforeEach(async () => {
    await sql.query('delete from athlete');
    ann = await newAthlete(sql);
  });

  const found = async (most = 10) => (await settled.find(sql, most)).map(({ id }) => id);

  it('settled streams are the stored and the unavailable ones, newest first', async () => {
    const ids = new Map<string, string>();
    for (const [days, status] of FETCH_STATUSES.entries())
      ids.set(status, await newActivity(sql, ann, { status, ended: `${days + 1} days` }));
    expect(await found()).toEqual([ids.get('success'), ids.get('unavailable')]);
    expect(await found(1)).toEqual([ids.get('success')]);
    expect(await settled.find(sql, 1)).toEqual([{ id: ids.get('success'), athlete_id: ann }]);
  });

  it('settled streams exclude activities unchanged since discovery saw them, and activities with a job under way', async () => {
    const [seen, busy, done] = [
      await newActivity(sql, ann, { status: 'success' }),
      await newActivity(sql, ann, { status: 'success' }),
      await newActivity(sql, ann, { status: 'success' }),
    ];
    await sql.query('update activity set first_seen_at = now(), last_seen_at = now() where id = $1', [seen]);
    const job = `insert into jobs (athlete_id, activity_id, request_kind, requested_by, max_attempts, status, finished_at_utc)
      values ($4, $1, 'manual_activity', 'test', 3, $2, $3::timestamptz)`;
    await sql.query(job, [busy, 'queued', null, ann]);
    await sql.query(job, [done, 'cancelled', new Date(), ann]);
    expect(await found()).toEqual([done]);
  });

  it('settled streams include activities changed since discovery saw them, and activities whose job waits', async () => {
    const [changed, waited] = [
      await newActivity(sql, ann, { status: 'success', ended: '1 day' }),
      await newActivity(sql, ann, { status: 'success', ended: '2 days' }),
    ];
    await sql.query(
      'update activity set first_seen_at = now(), last_seen_at = now(), input_revision = 3, seen_revision = 2 where id = $1',
      [changed],
    );
    await sql.query(
      `insert into jobs (athlete_id, activity_id, request_kind, requested_by, max_attempts, status, waits_for)
       values ($2, $1, 'manual_activity', 'test', 3, 'retry_wait', 'streams')`,
      [waited, ann],
    );
    expect(await found()).toEqual([changed, waited]);
  });

  it('settled streams exclude activities that another transaction has locked', async () => {
    const id = await newActivity(sql, ann, { status: 'success' });
    await sql.transaction(async (mine) => {
      expect((await settled.find(mine, 10)).map((one) => one.id)).toEqual([id]);
      expect(await found()).toEqual([]);
    });
    expect(await found()).toEqual([id]);
  });

  it('finds settled streams by the index activity_unseen, without a sequential scan', async () => {
    await sql.query(
      `insert into activity (
         provider, athlete_id, external_activity_id, name, sport_type, start_time, distance_m, moving_time_s, elapsed_time_s,
         elevation_gain_m, manual, private, total_photo_count, asked_at, stream_fetch_status, first_seen_at, last_seen_at
       )
       select
         'strava', $1, n::text, 'Run', 'Run', now() - n * interval '1 hour', 1, 1, 1, 0, false, false, 0, now(), 'success', now(), now()
       from generate_series(1, 20000) as n`,
      [ann],
    );
    await sql.query('analyze activity');
    const { text } = loadSql(import.meta.url, './sql/find-settled.sql');
    const { rows } = await sql.query<{ 'QUERY PLAN': unknown }>(`explain (format json) ${text}`, [200]);
    expect(JSON.stringify(rows)).toContain('activity_unseen');
    expect(JSON.stringify(rows)).not.toContain('Seq Scan');
  });
});
