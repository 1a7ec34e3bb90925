import { randomBytes } from 'node:crypto';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { type Database, loadSql, type Sql, timeScale } from '#platform';
import { newAthlete } from '../../../test/harness/athletes.js';
import { openTestDatabase, type OpenDatabase } from '../../../test/harness/test-database.js';
import { FRESH_FOR_MS, patienceAt, STALE_AFTER_MS } from './lifecycle/retry-policy.js';
import { StreamFetches } from './lifecycle/stream-fetches.js';
import { encode } from './reading/answer.js';
import { type Streams } from './reading/streams.js';
import { connect, FETCHED_AT, newActivity, streamsOn } from './streams.harness.js';

const patience = patienceAt(timeScale(1));
const statement = (file: string) => loadSql(import.meta.url, file).text;

interface PlanNode {
  readonly 'Node Type': string;
  readonly 'Relation Name'?: string;
  readonly 'Index Name'?: string;
  readonly Plans?: readonly PlanNode[];
}

/** What the statements look at where almost everything has been fetched. */
describe('with 100,000 activities that are done with', () => {
  let open: OpenDatabase;
  let sql: Database;
  let athleteId: string;
  let dueId: string;

  beforeAll(async () => {
    open = await openTestDatabase([], { poolSize: 1, statementTimeoutMs: 60_000 });
    sql = open.database;
    const athletes: string[] = [];
    for (let n = 0; n < 100; n += 1) athletes.push(await newAthlete(sql));
    for (const one of athletes) await connect(sql, one);
    await sql.query(
      `insert into activity (
         athlete_id, external_activity_id, name, sport_type, start_time, distance_m, moving_time_s, elapsed_time_s,
         elevation_gain_m, manual, private, total_photo_count, asked_at, stream_fetch_status
       )
       select
         ($1::uuid[])[1 + n % 100], n, '', 'Ride', now() - n * interval '1 minute', 1, 1, 1,
         1, false, false, 0, now(), (array['success', 'unavailable', 'success'])[1 + n % 3]
       from generate_series(1, 100000) as n`,
      [athletes],
    );
    athleteId = athletes[0]!;
    dueId = await newActivity(sql, athleteId);
    for (let n = 0; n < 40; n += 1) await newActivity(sql, athletes[n]!, { status: 'failed', retries: 3 });
    await newActivity(sql, athletes[1]!, { status: 'deferred', deferredFor: '-1 minute' });
    await sql.query('analyze');
  }, 120_000);
  afterAll(() => open.close());

  /** As it is planned for these values, and as it is for any: a prepared statement may get either. */
  async function plansOf(text: string, values: readonly unknown[]): Promise<PlanNode[]> {
    const plans: PlanNode[] = [];
    for (const mode of ['force_custom_plan', 'force_generic_plan'])
      await sql
        .transaction(async (inside) => {
          await inside.query(`set local plan_cache_mode = ${mode}`);
          plans.push(await explain(inside, text, values));
          throw new RolledBack();
        })
        .catch((error: unknown) => {
          if (!(error instanceof RolledBack)) throw error;
        });
    return plans;
  }

  async function explain(inside: Sql, text: string, values: readonly unknown[]): Promise<PlanNode> {
    const types = values.map(typeOf).join(', ');
    await inside.query(`prepare explained (${types}) as ${text}`);
    const list = values.map(literal).join(', ');
    const { rows } = await inside.query<{ 'QUERY PLAN': Array<{ Plan: PlanNode }> }>(
      `explain (analyze, format json) execute explained (${list})`,
    );
    await inside.query('deallocate explained');
    return rows[0]!['QUERY PLAN'][0]!.Plan;
  }

  it('what an athlete’s backfill fetches next is found by the partial index of athletes', async () => {
    for (const plan of await plansOf(statement('./lifecycle/sql/due.sql'), [athleteId, ...patience, 5]))
      expect(looksAt(plan)).toEqual(['ix_activity_stream_backfill_athlete']);
  });

  it('what an athlete’s backfill fetches next comes out of it in order', async () => {
    for (const plan of await plansOf(statement('./lifecycle/sql/due.sql'), [athleteId, ...patience, 5]))
      expect(nodesOf(plan).map((node) => node['Node Type'])).not.toContain('Sort');
    expect(await new StreamFetches(sql, timeScale(1)).due(athleteId, 5)).toMatchObject([{ id: dueId }]);
  });

  it.each([
    ['who has something due is found', './lifecycle/sql/athletes-with-due.sql'],
    ['what is left to fetch is counted', './counts/sql/count-left.sql'],
  ])('%s by a partial index', async (_, file) => {
    for (const plan of await plansOf(statement(file), [...patience]))
      for (const index of looksAt(plan)) expect(index).toMatch(/^ix_activity_stream_backfill_/);
  });

  it('what is stale is found by the index of those under way', async () => {
    for (const plan of await plansOf(statement('./lifecycle/sql/clean-up.sql'), [STALE_AFTER_MS]))
      expect(looksAt(plan)).toEqual(['activity_stream_fetching']);
  });

  it.each([
    ['a claim', 'claim', () => [dueId, ...patience, FRESH_FOR_MS]],
    ['a reset', 'reset', () => [dueId]],
  ] as const)('%s looks the activity up by its id', async (_, file, values) => {
    for (const plan of await plansOf(statement(`./lifecycle/sql/${file}.sql`), values()))
      expect(looksAt(plan)).toEqual(['activity_pkey']);
  });

  /** The indexes by which activities are found; a scan of all of them is its own entry. */
  function looksAt(plan: PlanNode): string[] {
    const found = nodesOf(plan).flatMap((node) => {
      if (node['Node Type'].startsWith('Seq Scan') && node['Relation Name'] === 'activity')
        return ['all of them'];
      return node['Index Name']?.includes('activity') ? [node['Index Name']] : [];
    });
    expect(found.length).toBeGreaterThan(0);
    return [...new Set(found)];
  }
});

describe('a reader who has the version', () => {
  let open: OpenDatabase;
  let sql: Database;
  let athleteId: string;
  let activityId: string;
  let etag: string;
  const newStreams = () => streamsOn(sql);

  beforeAll(async () => {
    // One session, so that its statistics are its own to flush.
    open = await openTestDatabase([], { poolSize: 1 });
    sql = open.database;
    athleteId = await newAthlete(sql);
    activityId = await newActivity(sql, athleteId);
    const fetches = new StreamFetches(sql, timeScale(1));
    const time = Array.from({ length: 20_000 }, (_, second) => second);
    const noise = [...randomBytes(time.length)];
    const stored = await encode(activityId, 'strava', FETCHED_AT, {
      channels: { time, watts: noise },
      pointCount: time.length,
    });
    await fetches.succeed((await fetches.claim(activityId))!, 'strava', FETCHED_AT, stored);
    etag = stored.etag;
  });
  afterAll(() => open.close());

  async function toastBlocks(): Promise<number> {
    await sql.query('select pg_stat_force_next_flush()');
    const { rows } = await sql.query<{ blocks: string }>(
      `select coalesce(toast_blks_read, 0) + coalesce(toast_blks_hit, 0) as blocks
       from pg_statio_user_tables where relname = 'activity_stream'`,
    );
    return Number(rows[0]!.blocks);
  }

  async function touchedBy(
    streams: Streams,
    has: readonly string[],
  ): Promise<{ kind: string; blocks: number }> {
    const before = await toastBlocks();
    const { kind } = await streams.read({ athleteId, activityId, cut: {}, has, waitMs: 0 });
    return { kind, blocks: (await toastBlocks()) - before };
  }

  it.each(['the version', '*'])('is answered without touching the bytes: %s', async (named) => {
    const has = [named === '*' ? '*' : etag];
    expect(await touchedBy(newStreams(), has)).toEqual({ kind: 'unchanged', blocks: 0 });
  });

  it('is who spares them: others get them, from the table twice and then from memory', async () => {
    const streams = newStreams();
    const first = await touchedBy(streams, ['an older version']);
    expect(first).toMatchObject({ kind: 'stored' });
    expect(first.blocks).toBeGreaterThan(0);
    // What is read once is not worth the place of something that is read again and again.
    expect((await touchedBy(streams, [])).blocks).toBeGreaterThan(0);
    expect(await touchedBy(streams, [])).toEqual({ kind: 'stored', blocks: 0 });
  });
});

class RolledBack extends Error {}

function nodesOf(plan: PlanNode): PlanNode[] {
  return [plan, ...(plan.Plans ?? []).flatMap(nodesOf)];
}

function typeOf(value: unknown): string {
  if (Array.isArray(value)) return 'float8[]';
  if (typeof value === 'number') return Number.isInteger(value) && value < 1_000 ? 'integer' : 'float8';
  return /^[\da-f-]{36}$/.test(String(value)) ? 'uuid' : 'text';
}

function literal(value: unknown): string {
  return Array.isArray(value) ? `array[${value.join(',')}]` : `'${String(value)}'`;
}
