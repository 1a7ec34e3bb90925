import { afterAll, beforeAll, expect, it } from '@jest/globals';
import { personalRecords } from '#activities';
import { type Database } from '#platform';
import { processingRecords } from '#processing';
import { StreamRecords } from '#streams';
import { WriteBackRecords } from '#write-back';
import { newAthlete } from '../harness/athletes.js';
import { openTestDatabase, type OpenDatabase } from '../harness/test-database.js';

let open: OpenDatabase;
beforeAll(async () => (open = await openTestDatabase()));
afterAll(() => open.close());

const TABLES = [
  'activity',
  'activity_stream',
  'jobs',
  'runs',
  'activity_state',
  'write_back',
  'import_jobs',
  'activity_sync',
  'activity_tombstone',
];

it('a deletion of one vendor’s data leaves the athlete’s activities, streams, jobs and imports of another vendor', async () => {
  const sql = open.database;
  const athleteId = await newAthlete(sql);
  for (const provider of ['strava', 'oura']) await addEverything(sql, athleteId, provider);
  const one = Object.fromEntries(TABLES.map((table) => [table, 1]));
  expect(await counts(sql)).toEqual(Object.fromEntries(TABLES.map((table) => [table, 2])));
  expect(await deleteAll(sql, athleteId, 'oura')).toBe(8);
  expect(await counts(sql)).toEqual(one);
  expect((await sql.query('select provider from activity')).rows).toEqual([{ provider: 'strava' }]);
  expect(await deleteAll(sql, athleteId, null)).toBe(8);
});

/** Deletes in the order of the worker. Returns how many records were counted. */
async function deleteAll(sql: Database, athleteId: string, provider: string | null): Promise<number> {
  let deleted = 0;
  for (const Records of [WriteBackRecords, ...processingRecords, StreamRecords, ...personalRecords]) {
    const records = new Records(sql);
    for (let some = -1; some !== 0;) {
      some = await records.deleteSome(sql, athleteId, {}, provider);
      deleted += some;
    }
  }
  return deleted;
}

async function counts(sql: Database): Promise<Record<string, number>> {
  const found = TABLES.map(async (table) => [table, (await sql.query(`select 1 from ${table}`)).count]);
  return Object.fromEntries(await Promise.all(found)) as Record<string, number>;
}

async function addEverything(sql: Database, athleteId: string, provider: string): Promise<void> {
  const { rows } = await sql.query<{ id: string }>(
    `insert into activity (
       athlete_id, provider, external_activity_id, name, sport_type, start_time, distance_m, moving_time_s, elapsed_time_s,
       elevation_gain_m, manual, private, total_photo_count, asked_at, photos
     )
     values ($1, $2, '1', 'Run', 'Run', now(), 1, 1, 1, 1, false, false, 0, now(), '[{"id":"p"}]')
     returning id`,
    [athleteId, provider],
  );
  const id = rows[0]?.id;
  await sql.query(
    `insert into activity_stream (source, athlete_id, activity_id, stream_data, point_count, body, etag) values ('strava', $2, $1, '{}', 0, '', '')`,
    [id, athleteId],
  );
  const { rows: jobs } = await sql.query<{ job_id: string }>(
    `insert into jobs (athlete_id, activity_id, request_kind, requested_by, max_attempts) values ($2, $1, 'manual_activity', 'ann', 3) returning job_id`,
    [id, athleteId],
  );
  const { rows: runs } = await sql.query<{ run_id: string }>(
    `insert into runs (athlete_id, run_id, job_id, activity_id, attempt_number, worker_owner) values ($3, gen_random_uuid(), $1, $2, 1, 'one') returning run_id`,
    [jobs[0]?.job_id, id, athleteId],
  );
  await sql.query(`insert into activity_state (athlete_id, activity_id, state) values ($2, $1, 'queued')`, [
    id,
    athleteId,
  ]);
  await sql.query(
    `insert into write_back (athlete_id, activity_id, run_id, title, description) values ($3, $1, $2, 't', 'd')`,
    [id, runs[0]?.run_id, athleteId],
  );
  await sql.query(
    `insert into import_jobs (athlete_id, provider, type, sync_cursor) values ($1, $2, 'full', '{}')`,
    [athleteId, provider],
  );
  await sql.query('insert into activity_sync (athlete_id, provider) values ($1, $2)', [athleteId, provider]);
  await sql.query(
    `insert into activity_tombstone (athlete_id, provider, external_activity_id, deleted_at) values ($1, $2, '2', now())`,
    [athleteId, provider],
  );
}
