import pg from 'pg';
import { StreamCounts } from '../libs/streams/src/counts/stream-counts.js';
import { openPool } from '../test/harness/test-database.js';

/** The sizes of one database. */
export interface Size {
  readonly activities: number;
  readonly athletes: number;
  readonly changes: number;
}

/** Ten activities for each athlete, and ten changes for each activity: it was made, its streams came, it was processed and edited. */
export function sizeOf(activities: number): Size {
  return { activities, athletes: activities / 10, changes: 10 * activities };
}

export interface Filled {
  /** This athlete has a tenth of all activities and nights, so that lists show the growth of a history, too. */
  readonly readerId: string;
  /** An athlete with some ten activities and nights. */
  readonly leaverId: string;
  /** Activities of the reader, newest first: the first 200, and one in the middle of the history. */
  readonly activityIds: readonly string[];
  readonly middle: { readonly id: string; readonly start_time: Date };
  /** Activities of any athlete that wait for their streams. */
  readonly pendingIds: readonly string[];
}

// Triggers that announce rows as changes. The log gets its rows directly, as many as are wanted.
const ANNOUNCING = {
  activity: ['activity_created'],
  athlete: ['athlete_made'],
  connection: ['connection_made'],
  sleep_data: ['night_stored'],
};
/** The owner of row `n` of $1: the first athlete has a tenth of the rows. */
const OWNER = `case when n <= $1::int / 10 then 1 else 2 + n % (select count(*)::int - 1 from person) end`;

/** Fills a migrated database. One activity in twenty waits for its streams; everything else is done. */
export async function fill(databaseUrl: string, { activities, athletes, changes }: Size): Promise<Filled> {
  const client = new pg.Client({ connectionString: databaseUrl });
  await client.connect();
  await setTriggers(client, 'disable');
  await client.query(
    'create table person (n integer primary key, id uuid not null default gen_random_uuid())',
  );
  await client.query('insert into person (n) select generate_series(1, $1::int)', [athletes]);
  await client.query('analyze person');
  for (const statement of OF_ATHLETES) await client.query(statement);
  for (const statement of OF_ACTIVITIES) {
    await client.query(statement, [activities]);
    // Postgres uses these statistics to plan the foreign key checks of the following inserts.
    await client.query('analyze athlete, activity, jobs');
  }
  for (const statement of AFTER_ACTIVITIES) await client.query(statement);
  await fillLog(client, changes);
  await setTriggers(client, 'enable');
  await foldCounts(databaseUrl);
  await client.query('vacuum analyze');
  // Without this, Postgres would write the inserted rows to disk during the measurement.
  await client.query('checkpoint');
  const filled = await found(client);
  await client.end();
  return filled;
}

/** The workers do this every ten seconds, so no database has more than the changes of a few seconds. */
async function foldCounts(databaseUrl: string): Promise<void> {
  const { database, close } = await openPool(databaseUrl, [], { poolSize: 1, statementTimeoutMs: 120_000 });
  await new StreamCounts(database).fold();
  await close();
}

async function setTriggers(client: pg.Client, what: 'enable' | 'disable'): Promise<void> {
  for (const [table, triggers] of Object.entries(ANNOUNCING))
    for (const trigger of triggers) await client.query(`alter table ${table} ${what} trigger ${trigger}`);
}

const OF_ATHLETES = [
  `insert into athlete (id, issuer, subject) select id, 'bench', id::text from person`,
  `insert into connection (
     athlete_id, provider, vendor_athlete_id, scopes, status, access_token, refresh_token, key_version, expires_at, connected_at
   )
   select
     id, provider, n, '{activity:read_all}', 'active', '', '', 1, now() + interval '1 hour', now() - (2 + n % 1000) * interval '1 day'
   from person
   cross join (values ('strava'), ('oura')) as vendors (provider)`,
  `insert into activity_sync (athlete_id, provider, last_sync_at, reconciled_at, whole_history_reconciled_at)
   select id, 'strava', now() - interval '30 days', now(), now() from person`,
  `update sleep_comparison set compared_at = now(), next_at = now() + interval '1 day' where provider = 'oura'`,
  'update backfill_switch set is_paused = true',
];

const OF_ACTIVITIES = [
  `insert into activity (
     provider, athlete_id, external_activity_id, name, sport_type, start_time, distance_m, moving_time_s, elapsed_time_s,
     elevation_gain_m, manual, private, total_photo_count, asked_at, detail_status, detail_stored_at, stream_fetch_status,
     first_seen_at, last_seen_at
   )
   select
     'strava', person.id, row.n, 'Run', case row.n % 7 when 0 then 'Ride' else 'Run' end,
     now() - row.n * interval '2 hours', 10000, 3600, 3600, 100, false, false, 0, now(),
     'stored', now() - row.n % 1000 * interval '1 minute',
     case row.n % 20 when 0 then 'pending' when 1 then 'unavailable' else 'success' end,
     now(), now()
   from (select n, ${OWNER} as owner from generate_series(1, $1::int) as n) as row
   join person on person.n = row.owner`,
  `insert into jobs (
     athlete_id, activity_id, request_kind, requested_by, max_attempts, attempt_count, status, run_id, requested_at_utc, finished_at_utc,
     superseded_at_utc
   )
   select
     athlete_id, id, 'auto_poll', 'bench', 3, 1,
     case external_activity_id::integer % 100 when 0 then 'cancelled' when 1 then 'failed_permanent' else 'succeeded' end,
     gen_random_uuid(), now() - external_activity_id::integer * interval '1 second', now(),
     case when external_activity_id::integer % 2 = 0 then now() end
   from activity
   where $1::int > 0`,
  `insert into webhook_event (
     vendor, dedupe_key, owner_id, object_type, object_id, aspect, event_time, raw, processed_at, outcome
   )
   select 'strava', n, ${OWNER}, 'activity', n, 'create', now(), '{}', now() - n % 6 * interval '1 day', 'applied'
   from generate_series(1, $1::int) n`,
  `insert into import_jobs (athlete_id, provider, type, status, sync_cursor, created_at, finished_at, superseded_at)
   select
     person.id, 'strava', 'incremental', 'completed', '{}', now() - row.n * interval '1 second', now(),
     case when row.n > (select count(*) from person) then now() end
   from generate_series(1, $1::int) as row (n)
   join person on person.n = 1 + row.n % (select count(*)::int from person)`,
  `insert into operator_action (at, actor, action, target)
   select now() - n * interval '1 second', 'bench', 'dlq.replay', n from generate_series(1, $1::int) n`,
  `insert into config_snapshots (source, payload_json)
   select 'worker', json_build_object('n', n) from generate_series(1, $1::int / 10) n`,
  // Calls of a week, so a seventh of them is of one day.
  `insert into strava_api_requests (endpoint, class, window_id, day_id, status, requested_at, user_id)
   select
     'streams', 'backfill', row.n % 672, row.n % 7, 200, now() - row.n % 168 * interval '1 hour', person.id
   from (select n, ${OWNER} as owner from generate_series(1, $1::int / 10) as n) as row
   join person on person.n = row.owner`,
  `insert into sleep_session (
     user_id, source, record_id, date, vendor, duration_minutes, nap, state, revision, captured_at, payload_hash, event_id, raw
   )
   select
     person.id, 'oura', row.n, current_date - row.n % 100000, 'oura', 450, false, 'scored', 1, now(), row.n, row.n, '{}'
   from (select n, ${OWNER} as owner from generate_series(1, $1::int) as n) as row
   join person on person.n = row.owner`,
];

const AFTER_ACTIVITIES = [
  `insert into runs (
     athlete_id, run_id, job_id, activity_id, attempt_number, worker_owner, status, finished_at_utc, result_json
   )
   select athlete_id, run_id, job_id, activity_id, 1, 'bench', status, now(), '{"title": "An easy hour"}' from jobs`,
  `insert into activity_state (athlete_id, activity_id, state, last_job_id, last_run_id)
   select athlete_id, activity_id, status, job_id, run_id from jobs`,
  'analyze activity_state',
  `insert into processed_activities (athlete_id, activity_id, run_id)
   select athlete_id, activity_id, run_id from jobs where status = 'succeeded'`,
  `insert into sleep_data (user_id, date, duration_minutes, vendor, captured_at, event_id)
   select user_id, date, duration_minutes, vendor, captured_at, event_id from sleep_session`,
];

// The index is made afterwards, which takes a tenth of the time.
async function fillLog(client: pg.Client, changes: number): Promise<void> {
  await client.query('truncate change_outbox');
  await client.query('drop index change_of_athlete');
  await client.query(
    `insert into change (seq, id, revision, type, athlete_id, subject_id, occurred_at, data, published_as)
     select
       row.n, gen_random_uuid(), row.n, 'activity.updated', person.id, row.n % 1000, now() - ($1 - row.n) * interval '0.2 seconds',
       '{"name":"Morning run"}'::json, row.n
     from generate_series(1, $1::int) as row (n)
     join person on person.n = 1 + row.n % (select count(*)::int from person)
     order by row.n`,
    [changes],
  );
  await client.query('create index change_of_athlete on change (athlete_id, seq)');
  await client.query('alter table change_outbox alter column revision restart with 100000000');
  for (const [table, column] of [
    ['change_feed', 'last_seq'],
    ['change_relay', 'published_seq'],
    ['delivery_plan', 'planned_seq'],
  ])
    await client.query(`update ${table} set ${column} = $1`, [changes]);
}

async function found(client: pg.Client): Promise<Filled> {
  const people = await client.query<{ id: string }>('select id from person where n <= 2 order by n');
  const [readerId = '', leaverId = ''] = people.rows.map(({ id }) => id);
  const own = 'select id, start_time from activity where athlete_id = $1 order by start_time desc, id desc';
  const newest = await client.query<{ id: string }>(`${own} limit 200`, [readerId]);
  const { rows: counted } = await client.query<{ count: number }>(
    'select count(*)::int as count from activity where athlete_id = $1',
    [readerId],
  );
  const middle = await client.query<Filled['middle']>(`${own} offset $2 limit 1`, [
    readerId,
    Math.floor((counted[0]?.count ?? 0) / 2),
  ]);
  const pending = await client.query<{ id: string }>(
    `select id from activity where stream_fetch_status = 'pending' order by id limit 200`,
  );
  if (!middle.rows[0]) throw new Error('the reader has no activities');
  return {
    readerId,
    leaverId,
    activityIds: newest.rows.map(({ id }) => id),
    middle: middle.rows[0],
    pendingIds: pending.rows.map(({ id }) => id),
  };
}
