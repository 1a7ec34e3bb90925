import { readFileSync } from 'node:fs';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { environment, variablesOf } from '#platform';
import { VENDOR_SETTINGS } from '#vendors';
import { openTestDatabase, type OpenDatabase } from '../harness/test-database.js';

// How many rows a table may get. A new table must be added here, and to docs/retention.md unless its rows are fixed.
const FIXED = 'a row for each vendor, worker or purpose, or one row';
const WITH_OWNER = 'deleted with the activity, the connection or the athlete';
const DONE = 'deleted as soon as its work is done';

const GROWTH: Readonly<Record<string, string>> = {
  activity: `${WITH_OWNER}; <VENDOR>_RETENTION_DAYS`,
  activity_state: WITH_OWNER,
  activity_stream: `${WITH_OWNER}; <VENDOR>_RETENTION_DAYS`,
  activity_sync: WITH_OWNER,
  activity_tombstone: WITH_OWNER,
  athlete: 'a row for each athlete, until the athlete is deleted',
  backfill_switch: FIXED,
  change: 'CHANGES_RETENTION_DAYS',
  change_feed: FIXED,
  change_outbox: DONE,
  change_relay: FIXED,
  config_snapshots: 'AUDIT_RETENTION_DAYS',
  connection: WITH_OWNER,
  dead_letter_order: '30 days',
  delivery_plan: FIXED,
  forced_runs: WITH_OWNER,
  import_jobs: 'IMPORTS_RETENTION_DAYS, the last one with the connection',
  jobs: 'JOBS_RETENTION_DAYS, the last one with the activity',
  oauth_flow: 'an hour',
  operator_action: 'AUDIT_RETENTION_DAYS',
  oura_api_requests: 'LEDGER_RETENTION_DAYS',
  polar_api_requests: 'LEDGER_RETENTION_DAYS',
  processed_activities: WITH_OWNER,
  receipt: 'RECEIPTS_RETENTION_DAYS',
  revocation: DONE,
  runs: 'JOBS_RETENTION_DAYS, with the job',
  schema_migration: FIXED,
  service_key: 'at most 1,000 in use; revoked ones are kept',
  session: '12 hours',
  sign_in_code: 'an hour',
  sleep_comparison: WITH_OWNER,
  sleep_data: `${WITH_OWNER}; SLEEP_RETENTION_DAYS`,
  sleep_erasure: 'as long as an older event may be delivered',
  sleep_session: `${WITH_OWNER}; SLEEP_RETENTION_DAYS`,
  sleep_untold: DONE,
  strava_api_requests: 'LEDGER_RETENTION_DAYS',
  stream_count_athlete: WITH_OWNER,
  stream_count_change: DONE,
  stream_count_left: DONE,
  stream_count_total: FIXED,
  stream_reset_order: '30 days',
  vendor: FIXED,
  vendor_budget_epoch: FIXED,
  vendor_share: FIXED,
  webhook_delivery: 'WEBHOOK_DELIVERIES_RETENTION_DAYS',
  webhook_endpoint: 'at most 50',
  webhook_event: 'WEBHOOK_EVENTS_RETENTION_DAYS',
  webhook_owner: DONE,
  webhook_replay: DONE,
  webhook_subscription: FIXED,
  webhook_subscription_keeper: FIXED,
  whoop_api_requests: 'LEDGER_RETENTION_DAYS',
  write_back: WITH_OWNER,
};

// Keys of tables with an athlete that do not contain the athlete, with the reason. Such a table cannot be distributed by athlete as it is.
const SECRET = 'the request has nothing but a secret, whose hash is the key';
const GLOBAL = 'must be unique among all athletes; the table is small';
const LOG = 'a number in the order of all athletes; the rows are purged';
const ENDPOINT = 'belongs to an endpoint of the app, not to an athlete; the rows are purged';

const WITHOUT_ATHLETE: Readonly<Record<string, string>> = {
  'change: change_pkey': LOG,
  'change_outbox: change_outbox_pkey': LOG,
  'connection: connection_one_owner': GLOBAL,
  'oauth_flow: oauth_flow_confirm_hash': SECRET,
  'oauth_flow: oauth_flow_pkey': SECRET,
  'oura_api_requests: oura_api_requests_pkey': LOG,
  'polar_api_requests: polar_api_requests_pkey': LOG,
  'session: session_pkey': SECRET,
  'sign_in_code: sign_in_code_pkey': SECRET,
  'strava_api_requests: strava_api_requests_pkey': LOG,
  'stream_count_change: stream_count_change_pkey': LOG,
  'stream_reset_order: stream_reset_order_pkey': LOG,
  'webhook_delivery: webhook_delivery_endpoint_id_fkey': ENDPOINT,
  'webhook_delivery: webhook_delivery_of_change': ENDPOINT,
  'webhook_delivery: webhook_delivery_pkey': ENDPOINT,
  'whoop_api_requests: whoop_api_requests_pkey': LOG,
};

describe('the catalogue of tables', () => {
  let open: OpenDatabase;
  beforeAll(async () => {
    open = await openTestDatabase();
  });
  afterAll(() => open.close());

  const tables = async () => {
    const statement = `select relname as name from pg_class
      where relnamespace = 'public'::regnamespace and relkind in ('r', 'p') and not relispartition order by 1`;
    return (await open.database.query<{ name: string }>(statement)).rows.map(({ name }) => name);
  };

  it('every table says how much it grows, and docs/retention.md describes each one that is purged', async () => {
    expect(Object.keys(GROWTH)).toEqual(await tables());
    const page = readFileSync('docs/retention.md', 'utf8');
    const purged = Object.entries(GROWTH).filter(([, growth]) => growth !== FIXED);
    expect(purged.map(([table]) => table).filter((table) => !page.includes(`\`${table}\``))).toEqual([]);
  });

  it('docs/retention.md names the retention variable of each table that has one, and each variable exists', () => {
    const policies = retentionPolicies();
    const variables = Object.keys({ ...environment, ...variablesOf(VENDOR_SETTINGS) });
    for (const [table, growth] of Object.entries(GROWTH)) {
      const name = /\w+_RETENTION_DAYS/.exec(growth.replace('<VENDOR>', 'STRAVA'))?.[0];
      if (!name) continue;
      expect(variables).toContain(name);
      expect(policies.get(table)).toContain(name);
    }
  });

  it('unique and foreign keys of an athlete’s tables contain the athlete, with the listed exceptions', async () => {
    const { rows } = await open.database.query<{ key: string }>(KEYS_WITHOUT_ATHLETE);
    expect(rows.map(({ key }) => key)).toEqual(Object.keys(WITHOUT_ATHLETE));
  });
});

/** The rows of the page's table by the name of the table that they are about. A row without a name goes on about the tables of the row before. */
function retentionPolicies(): ReadonlyMap<string, string> {
  const policies = new Map<string, string>();
  let tables: string[] = [];
  for (const line of readFileSync('docs/retention.md', 'utf8').split('\n')) {
    const [, first = '', policy] = line.split('|');
    if (policy === undefined) continue;
    if (first.trim()) tables = [...first.matchAll(/`(\w+)`/g)].map(([, name = '']) => name);
    for (const table of tables) policies.set(table, `${policies.get(table) ?? ''} ${policy}`);
  }
  return policies;
}

// The tables that name an athlete, and those that belong to one of their rows. `user_id` is the subject or the id of the athlete.
const KEYS_WITHOUT_ATHLETE = `
  with recursive owned as (
    select attrelid as id
    from pg_attribute
    join pg_class on pg_class.oid = attrelid and relkind in ('r', 'p') and relnamespace = 'public'::regnamespace
    where attname in ('athlete_id', 'user_id')
    union
    select conrelid from pg_constraint join owned on confrelid = owned.id where contype = 'f'
  ), key as (
    select indrelid as id, indexrelid::regclass::text as name, indkey::int2[] as columns from pg_index where indisunique
    union all
    -- Every node of a distributed database would have a copy of the list of vendors.
    select conrelid, conname, conkey from pg_constraint where contype = 'f' and confrelid <> 'vendor'::regclass
  )
  select key.id::regclass || ': ' || key.name as key
  from key
  join owned using (id)
  where not exists (
    select from pg_attribute
    where attrelid = key.id and attnum = any(key.columns) and attname in ('athlete_id', 'user_id')
  )
  order by 1`;
