import { afterAll, beforeAll, beforeEach, describe, expect, it } from '@jest/globals';
import { type Database } from '#platform';
import { newAthlete } from '../../../../test/harness/athletes.js';
import { openTestDatabase, type OpenDatabase } from '../../../../test/harness/test-database.js';
import { newActivity } from '../streams.harness.js';
import { FETCH_STATUSES } from './fetch-state.js';
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

  it('are those whose streams are here, or never will be, the newest first', async () => {
    const ids = new Map<string, string>();
    for (const [days, status] of FETCH_STATUSES.entries())
      ids.set(status, await newActivity(sql, ann, { status, ended: `${days + 1} days` }));
    expect(await found()).toEqual([ids.get('success'), ids.get('unavailable')]);
    expect(await found(1)).toEqual([ids.get('success')]);
    expect(await settled.find(sql, 1)).toEqual([{ id: ids.get('success'), athlete_id: ann }]);
  });

  it('are not those the runtime has come across, nor those with a job under way', async () => {
    const [seen, busy, done] = [
      await newActivity(sql, ann, { status: 'success' }),
      await newActivity(sql, ann, { status: 'success' }),
      await newActivity(sql, ann, { status: 'success' }),
    ];
    await sql.query('update activity set first_seen_at = now(), last_seen_at = now() where id = $1', [seen]);
    const job = `insert into jobs (activity_id, request_kind, requested_by, max_attempts, status, finished_at_utc)
      values ($1, 'manual_activity', 'test', 3, $2, $3::timestamptz)`;
    await sql.query(job, [busy, 'queued', null]);
    await sql.query(job, [done, 'cancelled', new Date()]);
    expect(await found()).toEqual([done]);
  });

  it('are left to whoever has them', async () => {
    const id = await newActivity(sql, ann, { status: 'success' });
    await sql.transaction(async (mine) => {
      expect((await settled.find(mine, 10)).map((one) => one.id)).toEqual([id]);
      expect(await found()).toEqual([]);
    });
    expect(await found()).toEqual([id]);
  });

  it('are found by an index that holds nothing else', async () => {
    await sql.query(
      `insert into activity (
         athlete_id, external_activity_id, name, sport_type, start_time, distance_m, moving_time_s, elapsed_time_s,
         elevation_gain_m, manual, private, total_photo_count, asked_at, stream_fetch_status, first_seen_at, last_seen_at
       )
       select
         $1, n::text, 'Run', 'Run', now() - n * interval '1 hour', 1, 1, 1, 0, false, false, 0, now(), 'success', now(), now()
       from generate_series(1, 20000) as n`,
      [ann],
    );
    await sql.query('analyze activity');
    const text = `explain (format json) select id from activity
      where first_seen_at is null and stream_fetch_status in ('success', 'unavailable')
      order by start_time desc limit 200`;
    const { rows } = await sql.query<{ 'QUERY PLAN': unknown }>(text);
    expect(JSON.stringify(rows)).toContain('activity_undiscovered');
  });
});
