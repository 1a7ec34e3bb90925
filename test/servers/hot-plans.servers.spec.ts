import { afterAll, beforeAll, expect, it } from '@jest/globals';
import { createRedis, type Database, type Sql, type Statement } from '#platform';
import { fill, type Filled, sizeOf } from '../../bench/growth-rows.js';
import { logger, statements } from '../../bench/growth-works.js';
import { blocksOf, nodesOf, plansOf } from '../harness/plans.js';
import { openTestDatabase, type OpenDatabase } from '../harness/test-database.js';

const ACTIVITIES = 10_000;
// A table below this size is read as a whole because that is the fastest way. With 10,000 activities there are 1,000 athletes.
const SMALL_PAGES = 8;

/** Work that reads a row of each athlete or connection, with the reason. docs/benchmarks.md has its time at each size. */
const READS_ALL_ATHLETES: Readonly<Record<string, readonly string[]>> = {
  // Once a minute: schedules a tick for each athlete with due streams.
  'athletes with due streams': ['connection'],
  // At most four times a minute: a forecast is about all athletes.
  'calls left of all athletes, for every ETA': ['connection'],
  // The thousand athletes that the answer names are all of this database.
  'counts of 1,000 athletes': ['stream_count_athlete'],
};

const HOT = [
  'claim a job',
  'claim streams',
  'due streams of an athlete',
  'discovery, nothing new',
  'count the calls, for a rebuild',
  'poll at the head',
  'retention of activities, nothing due',
  'retention of nights, nothing due',
  'nights to reconcile, none due',
  'new connections without an import',
  'delete all rows of an athlete',
];

interface Executed {
  readonly text: string;
  readonly values: readonly unknown[];
}

let open: OpenDatabase;
let filled: Filled;
/** The pages of each table that grows. Changes of stream counts are left out: they live for seconds, and a fold reads all of them. */
let pages: ReadonlyMap<string, number>;
const redis = createRedis({ url: process.env.REDIS_URL ?? '', keyPrefix: 'hot-plans:' }, logger);
beforeAll(async () => {
  open = await openTestDatabase([], { poolSize: 1, statementTimeoutMs: 60_000 });
  filled = await fill(open.url, sizeOf(ACTIVITIES));
  const { rows } = await open.database.query<{ table: string; pages: number }>(
    `select relname as table, relpages as pages
     from pg_class
     where relkind = 'r' and relpages >= $1 and relname <> 'stream_count_change'`,
    [SMALL_PAGES],
  );
  pages = new Map(rows.map(({ table, pages: count }) => [table, count]));
}, 120_000);
afterAll(async () => {
  redis.disconnect();
  await open.close();
});

it('no statement of the workers, gauges, sweeps and deletions reads all of a table that grows', async () => {
  const executed: Executed[] = [];
  const works = await statements(
    recording(open.database, executed),
    redis,
    filled,
    sizeOf(ACTIVITIES).changes,
  );
  const readsAll: Record<string, readonly string[]> = {};
  for (const { what, run } of works) {
    executed.length = 0;
    await run(1);
    const tables = new Set<string>();
    for (const { text, values } of executed.filter(isExplained))
      for (const table of await tablesReadWhole(text, values)) tables.add(table);
    if (tables.size > 0) readsAll[what] = [...tables].sort();
  }
  expect(readsAll).toEqual(READS_ALL_ATHLETES);
  // Otherwise the test would pass without them.
  expect(works.map(({ what }) => what)).toEqual(expect.arrayContaining(HOT));
});

/** Runs all statements on the database and notes them. */
function recording(database: Database, executed: Executed[]): Database {
  const noting = (sql: Sql): Sql => ({
    query: <Row extends object>(statement: Statement | string, values: readonly unknown[] = []) => {
      executed.push({ text: typeof statement === 'string' ? statement : statement.text, values });
      return sql.query<Row>(statement, values);
    },
  });
  return {
    ...noting(database),
    now: () => database.now(),
    transaction: <T>(work: (sql: Sql) => Promise<T>) => database.transaction((sql) => work(noting(sql))),
  } as Database;
}

const isExplained = ({ text }: Executed) =>
  /^\s*(--.*\n\s*)*(select|insert|update|delete|with)\b/i.test(text);

/** The growing tables that the plan for these values, or the generic plan, reads from the first page to the last. */
async function tablesReadWhole(text: string, values: readonly unknown[]): Promise<string[]> {
  const plans = await plansOf(open.database, text, values);
  return plans.flatMap(nodesOf).flatMap((node) => {
    const table = node['Relation Name'] ?? '';
    // A scan that ends after the first thousand rows reads a part of the table's pages.
    const isWhole =
      node['Node Type'].endsWith('Seq Scan') && blocksOf(node) >= (pages.get(table) ?? Infinity);
    return isWhole ? [table] : [];
  });
}
