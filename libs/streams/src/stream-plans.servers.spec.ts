import { randomBytes } from 'node:crypto';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { type Database, loadSql, timeScale } from '#platform';
import { newAthlete } from '../../../test/harness/athletes.js';
import { nodesOf, type PlanNode, plansOf, waysInto } from '../../../test/harness/plans.js';
import { openTestDatabase, type OpenDatabase } from '../../../test/harness/test-database.js';
import { StreamCounts } from './counts/stream-counts.js';
import { FRESH_FOR_MS, retryArguments, STALE_AFTER_MS } from './lifecycle/retry-policy.js';
import { StreamFetches } from './lifecycle/stream-fetches.js';
import { encode } from './reading/answer.js';
import { type Streams } from './reading/streams.js';
import { connect, FETCHED_AT, newActivity, streamsOn } from './streams.harness.js';

const retry = retryArguments(timeScale(1));
const statement = (file: string) => loadSql(import.meta.url, file).text;

/** Query plans of the statements when almost all streams have been fetched. */
describe('with 100,000 activities whose streams are fetched', () => {
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
         provider, athlete_id, external_activity_id, name, sport_type, start_time, distance_m, moving_time_s, elapsed_time_s,
         elevation_gain_m, manual, private, total_photo_count, asked_at, stream_fetch_status
       )
       select
         'strava', ($1::uuid[])[1 + n % 100], n, '', 'Ride', now() - n * interval '1 minute', 1, 1, 1,
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

  const explained = (text: string, values: readonly unknown[]) => plansOf(sql, text, values);

  it('finds the next streams of an athlete’s backfill by ix_activity_stream_backfill_eligible', async () => {
    for (const plan of await explained(statement('./lifecycle/sql/due.sql'), [
      athleteId,
      ...retry,
      5,
      'strava',
    ]))
      expect(indexesUsed(plan)).toEqual(['ix_activity_stream_backfill_eligible']);
  });

  it('reads the next streams of an athlete’s backfill from the index in order, without a sort', async () => {
    for (const plan of await explained(statement('./lifecycle/sql/due.sql'), [
      athleteId,
      ...retry,
      5,
      'strava',
    ]))
      expect(nodesOf(plan).map((node) => node['Node Type'])).not.toContain('Sort');
    expect(
      await new StreamFetches(sql, timeScale(1)).due({ athleteId, provider: 'strava' }, 5),
    ).toMatchObject([{ id: dueId }]);
  });

  it('finds athletes with due streams by ix_activity_stream_backfill_eligible', async () => {
    for (const plan of await explained(statement('./lifecycle/sql/athletes-with-due.sql'), [
      ...retry,
      ['strava'],
    ]))
      expect(indexesUsed(plan)).toEqual(['ix_activity_stream_backfill_eligible']);
  });

  it('the count of the streams left to fetch reads only deferred activities', async () => {
    await new StreamCounts(sql).fold();
    for (const plan of await explained(statement('./counts/sql/count-left.sql'), [3, 'strava']))
      expect(indexesUsed(plan)).toEqual(['activity_stream_deferred']);
  });

  it.each([
    ['by state', 'count-total', []],
    ['by athlete', 'count-by-athlete', [10]],
    ['of some athletes', 'count-of-athletes', [['00000000-0000-0000-0000-000000000000']]],
  ])('counts activities %s without reading the table activity', async (_, file, values) => {
    for (const plan of await explained(statement(`./counts/sql/${file}.sql`), values))
      expect(waysInto('activity', plan)).toEqual([]);
  });

  it('finds stale fetches by the index activity_stream_fetching', async () => {
    for (const plan of await explained(statement('./lifecycle/sql/clean-up.sql'), [STALE_AFTER_MS]))
      expect(indexesUsed(plan)).toEqual(['activity_stream_fetching']);
  });

  it.each([
    ['a claim', 'claim', () => [dueId, ...retry, FRESH_FOR_MS]],
    ['a reset', 'reset', () => [dueId, ['strava']]],
  ] as const)('%s of a stream fetch finds the activity by its primary key', async (_, file, values) => {
    for (const plan of await explained(statement(`./lifecycle/sql/${file}.sql`), values()))
      expect(indexesUsed(plan)).toEqual(['activity_pkey']);
  });

  /** The indexes by which a plan reads `activity`; a sequential scan is an entry, too. */
  function indexesUsed(plan: PlanNode): string[] {
    const found = waysInto('activity', plan);
    expect(found.length).toBeGreaterThan(0);
    return found;
  }
});

describe('reading the bytes of streams', () => {
  let open: OpenDatabase;
  let sql: Database;
  let athleteId: string;
  let activityId: string;
  let etag: string;
  const newStreams = () => streamsOn(sql);

  beforeAll(async () => {
    // One session, since `pg_stat_force_next_flush` flushes the statistics of its own session only.
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

  async function readCountingBlocks(
    streams: Streams,
    knownVersions: readonly string[],
  ): Promise<{ kind: string; blocks: number }> {
    const before = await toastBlocks();
    const { kind } = await streams.read({ athleteId, activityId, cut: {}, knownVersions, waitMs: 0 });
    return { kind, blocks: (await toastBlocks()) - before };
  }

  it.each(['the current version', '*'])(
    'answers "unchanged" to a reader with %s without reading the bytes of streams',
    async (named) => {
      const known = [named === '*' ? '*' : etag];
      expect(await readCountingBlocks(newStreams(), known)).toEqual({ kind: 'unchanged', blocks: 0 });
    },
  );

  it('reads the bytes of streams from the table twice and then from the cache', async () => {
    const streams = newStreams();
    const first = await readCountingBlocks(streams, ['an older version']);
    expect(first).toMatchObject({ kind: 'stored' });
    expect(first.blocks).toBeGreaterThan(0);
    // A body is cached only when it is read for the second time.
    expect((await readCountingBlocks(streams, [])).blocks).toBeGreaterThan(0);
    expect(await readCountingBlocks(streams, [])).toEqual({ kind: 'stored', blocks: 0 });
  });
});
