import { randomUUID } from 'node:crypto';
import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import pg from 'pg';
import { createTestDatabase } from '../harness/test-database.js';
import { migrateDown, migrateUp } from '../../libs/platform/src/database/migrate.js';
import { migrationClasses } from '../../libs/platform/src/database/migrations.js';

const all = migrationClasses();
const index = all.findIndex((Migration) => new Migration().name?.startsWith('activities_by_vendor'));
const before = all.slice(0, index);
const after = all.slice(0, index + 1);

const COUNTS = `
  select athlete_id, provider, sum(calls)::int as calls
  from (
    select athlete_id, provider, calls from stream_count_left
    union all
    select athlete_id, provider, change from stream_count_change where status = 'pending'
  ) counted
  group by athlete_id, provider`;

describe('imports and synchronisation states while they get a vendor', () => {
  let url: string;
  let drop: () => Promise<void>;
  let client: pg.Client;
  const athlete = randomUUID();
  beforeEach(async () => {
    ({ url, drop } = await createTestDatabase('template0'));
    await migrateUp(url, before);
    client = new pg.Client({ connectionString: url });
    await client.connect();
    await client.query(`insert into athlete (id, issuer, subject) values ($1, '', 'ann')`, [athlete]);
    await client.query('insert into strava_sync (athlete_id, last_strava_sync_at) values ($1, $2)', [
      athlete,
      new Date(0),
    ]);
    await client.query(
      `insert into import_jobs (athlete_id, type, status, sync_cursor) values ($1, 'full', 'started', '{}')`,
      [athlete],
    );
    await client.query(
      `insert into activity (
         provider, athlete_id, external_activity_id, name, sport_type, start_time, distance_m, moving_time_s, elapsed_time_s,
         elevation_gain_m, manual, private, total_photo_count, asked_at
       )
       values ('strava', $1, '1', 'Run', 'Run', now(), 1, 1, 1, 1, false, false, 0, now())`,
      [athlete],
    );
  });
  afterEach(async () => {
    await client.end();
    await drop();
  });

  const rows = async (statement: string) => (await client.query<object>(statement)).rows;

  it('existing imports, synchronisation states and stream counts belong to Strava after the migration', async () => {
    await migrateUp(url, after);
    expect(await rows('select provider, last_sync_at as at from activity_sync')).toEqual([
      { provider: 'strava', at: new Date(0) },
    ]);
    expect(await rows('select provider, status from import_jobs')).toEqual([
      { provider: 'strava', status: 'started' },
    ]);
    expect(await rows(COUNTS)).toEqual([{ athlete_id: athlete, provider: 'strava', calls: 1 }]);
  });

  it('Strava’s rows are kept and those of other vendors deleted when the migration is reverted', async () => {
    await migrateUp(url, after);
    await client.query(
      `insert into import_jobs (athlete_id, provider, type, status, sync_cursor) values ($1, 'oura', 'full', 'started', '{}')`,
      [athlete],
    );
    await client.query(`insert into activity_sync (athlete_id, provider) values ($1, 'oura')`, [athlete]);
    await migrateDown(url, after);
    expect(await rows('select last_strava_sync_at as at from strava_sync')).toEqual([{ at: new Date(0) }]);
    expect(await rows('select status from import_jobs')).toEqual([{ status: 'started' }]);
    expect(await rows('select sum(change)::int as n from stream_count_change')).toEqual([{ n: 1 }]);
  });
});
