import pg from 'pg';
import { Changes, createLogger, createRedis, type Database, migrateUp } from '#platform';
import { ChangeNews } from '../libs/push/src/change-news.js';
import { JWT_SECRET } from '../test/harness/environment.js';
import { openPool } from '../test/harness/test-database.js';
import { type Finding } from './results.js';

const ATHLETES = 1_000;
const MOST_RATIO = 2;
// An activity's item, by far the most frequent data of changes.
const DATA = JSON.stringify({
  id: 'c81e728d-9d4c-4f63-af06-7f89cc14862c',
  provider: 'strava',
  external_activity_id: '12345678901',
  name: 'Morning run',
  sport_type: 'Run',
  start_time: '2026-11-18T06:30:00.000Z',
  timezone: 'Europe/Berlin',
  distance_m: 10_012.3,
  moving_time_s: 3_012,
  elapsed_time_s: 3_100,
  elevation_gain_m: 84,
  average_heartrate: 148.2,
  manual: false,
  photos: [],
  stream_fetch_status: 'success',
  same_as: [],
});
export const logger = createLogger({ level: 'error', process: 'bench' });

/** Figures of a log without old changes, and of one with them. The two are measured in turn, so a busy moment of the machine affects both. */
export type Pair<T> = readonly [fresh: T, old: T];

/** A database with a log of changes. */
export interface ChangeLog {
  readonly database: Database;
  readonly news: ChangeNews;
  /** The environment of the product's processes on this log. */
  readonly env: NodeJS.ProcessEnv;
  /** Commits so many changes and moves them to the log. */
  append(count: number): Promise<void>;
  close(): Promise<void>;
}

/** Creates a log with so many old changes, which are published and planned for webhooks. */
export async function openChangeLog(old: number): Promise<ChangeLog> {
  const url = await createDatabase(`push_${old}`);
  await migrateUp(url);
  await insertOld(url, old);
  const { database, close } = await openPool(url, [], { statementTimeoutMs: 60_000 });
  const prefix = `push:${old}:`;
  const redisConfig = { url: process.env.REDIS_URL ?? '', keyPrefix: prefix };
  const redis = createRedis(redisConfig, logger);
  const news = new ChangeNews(new Changes(database), { redis: redisConfig }, redis, logger);
  const env = {
    DATABASE_URL: url,
    REDIS_KEY_PREFIX: prefix,
    PORT: '0',
    JWT_SECRET,
    ENCRYPTION_KEYS: `1:${Buffer.alloc(32).toString('base64')}`,
  };
  return {
    ...{ database, news, env },
    append: async (count) => {
      await database.query(
        `insert into change_outbox (type, athlete_id, subject_id, data)
         select 'activity.updated', md5((n % ${ATHLETES})::text)::uuid, md5(n::text)::uuid, $2
         from generate_series(1, $1::int) as n`,
        [count, DATA],
      );
      await news.sequence();
      // Autovacuum does so in a log that is in use. Without statistics, Postgres may compile the statement of each page (JIT), for up to 500 ms.
      await database.query('analyze change, change_feed, change_relay');
    },
    close: async () => {
      redis.disconnect();
      await close();
    },
  };
}

/** Compares the two logs. `values`: the times without and with the old changes. */
export function comparison(what: string, [fresh, old]: Pair<number>): Finding {
  const ratio = old / fresh;
  const ms = (value: number) => value.toFixed(1);
  return {
    what: `${what}: without → with old changes`,
    measured: `${ms(fresh)} → ${ms(old)} ms (${ratio.toFixed(2)}×)`,
    goal: `≤ ${MOST_RATIO}×`,
    met: ratio <= MOST_RATIO,
  };
}

async function createDatabase(name: string): Promise<string> {
  const url = new URL(process.env.DATABASE_URL ?? '');
  await asAdmin(url.href, (admin) => admin.query(`create database ${name}`));
  url.pathname = name;
  return url.href;
}

/** The changes are 0.2 s apart, so retention would keep ten million of them. The index is created afterwards, which takes a tenth of the time. */
async function insertOld(url: string, count: number): Promise<void> {
  if (count === 0) return;
  const begunAtMs = performance.now();
  await asAdmin(url, async (admin) => {
    await admin.query('drop index change_of_athlete');
    await admin.query(
      `insert into change (seq, id, revision, type, athlete_id, subject_id, occurred_at, data, published_as)
       select
         n, gen_random_uuid(), n, 'activity.updated', md5((n % ${ATHLETES})::text)::uuid, md5((n % 100000)::text)::uuid,
         now() - ($1 - n) * interval '0.2 seconds', $2::json, n
       from generate_series(1, $1::int) as n`,
      [count, DATA],
    );
    await admin.query('create index change_of_athlete on change (athlete_id, seq)');
    await admin.query('alter table change_outbox alter column revision restart with 100000000');
    await admin.query('update change_feed set last_seq = $1', [count]);
    await admin.query('update change_relay set published_seq = $1', [count]);
    await admin.query('update delivery_plan set planned_seq = $1', [count]);
    await admin.query('vacuum analyze change');
    // Without this, Postgres would write the inserted rows to disk during the measurement.
    await admin.query('checkpoint');
  });
  const seconds = Math.round((performance.now() - begunAtMs) / 1_000);
  console.log(`${count.toLocaleString('en')} old changes in ${seconds} s`);
}

async function asAdmin(
  connectionString: string,
  work: (admin: pg.Client) => Promise<unknown>,
): Promise<void> {
  const admin = new pg.Client({ connectionString });
  await admin.connect();
  try {
    await work(admin);
  } finally {
    await admin.end();
  }
}
