import { randomUUID } from 'node:crypto';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { loadSql } from '#platform';
import { newAthlete } from '../../../../test/harness/athletes.js';
import { openTestDatabase, type OpenDatabase } from '../../../../test/harness/test-database.js';
import { LEASE_MS } from '../jobs.harness.js';
import { Jobs } from './jobs.js';
import { Runs } from './runs.js';

const WAITING = 500;
const IDS = [[], []];

/** What Postgres believes is that nothing runs: statistics are always of another moment than the one with a full queue. */
describe('plans made while the statistics know of finished jobs only', () => {
  let open: OpenDatabase;
  beforeAll(async () => {
    open = await openTestDatabase([], { poolSize: 1 });
    const sql = open.database;
    const athleteId = await newAthlete(sql);
    const activities = async (count: number) => {
      const { rows } = await sql.query<{ id: string }>(
        `insert into activity (
           athlete_id, external_activity_id, name, sport_type, start_time, distance_m, moving_time_s, elapsed_time_s,
           elevation_gain_m, manual, private, total_photo_count, asked_at
         )
         select $1, gen_random_uuid()::text, 'Run', 'Run', now(), 10000, 3600, 3600, 100, false, false, 0, now()
         from generate_series(1, $2::int)
         returning id`,
        [athleteId, count],
      );
      return rows.map(({ id }) => id);
    };
    await sql.query(
      `insert into jobs (activity_id, request_kind, requested_by, max_attempts, status, finished_at_utc)
       select id, 'auto_poll', 'test', 3, 'succeeded', now() from unnest($1::uuid[]) as id`,
      [await activities(3_000)],
    );
    await sql.query('vacuum analyze');
    const activityIds = await activities(2 * WAITING);
    await new Jobs(sql).enqueue({ athleteId, activityIds, kind: 'auto_poll', requestedBy: 'test' });
    await new Runs(sql).claim('me', WAITING, LEASE_MS);
  });
  afterAll(() => open.close());

  it.each<[string, string, readonly unknown[]]>([
    ['claim', 'jobs_claimable', ['me', 1, LEASE_MS, 1_000]],
    ['start', 'jobs_pkey', [...IDS, 'me']],
    ['complete', 'jobs_pkey', ['me', ...Array.from({ length: 9 }, () => [])]],
    ['skip', 'jobs_pkey', [randomUUID(), randomUUID(), 'me']],
    ['renew', 'jobs_pkey', [...IDS, 'me', LEASE_MS]],
    ['release', 'jobs_pkey', [...IDS, 'me']],
    ['cancel', 'jobs_pkey', [randomUUID(), randomUUID()]],
    ['requeue-expired', 'jobs_leased', [1]],
  ])('%s by %s', async (statement, index, values) => {
    const { text } = loadSql(import.meta.url, `./sql/${statement}.sql`);
    const { rows } = await open.database.query<Record<'QUERY PLAN', string>>(`explain ${text}`, values);
    const plan = rows.map((row) => row['QUERY PLAN']).join('\n');
    const ways = [...plan.matchAll(/(?:Index (?:Only )?Scan using (\w+)|(Seq Scan)) on jobs/g)].map(
      ([, used, whole]) => used ?? whole,
    );
    expect(ways[0]).toBe(index);
    expect(ways).not.toContain('Seq Scan');
  });
});
