import { randomUUID } from 'node:crypto';
import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import pg from 'pg';
import { createTestDatabase } from '../harness/test-database.js';
import { migrateDown, migrateUp } from '../../libs/platform/src/database/migrate.js';
import { migrationClasses } from '../../libs/platform/src/database/migrations.js';

const all = migrationClasses();
const index = all.findIndex((Migration) => new Migration().name?.startsWith('held_work'));
const before = all.slice(0, index);
const after = all.slice(0, index + 1);

describe('work that is held while leases and fences get columns of their own', () => {
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
    await client.query(
      `insert into strava_sync (athlete_id, reconcile_after) values ($1, now() + interval '10 minutes')`,
      [athlete],
    );
    await client.query(
      `insert into import_jobs (athlete_id, type, status, sync_cursor, turn, leased_until)
       values ($1, 'full', 'started', '{}', 7, now() + interval '1 minute')`,
      [athlete],
    );
  });
  afterEach(async () => {
    await client.end();
    await drop();
  });

  const first = async (statement: string) => (await client.query<object>(statement)).rows[0];

  it('a row that an old worker holds is due when its lease would have ended, and an import keeps its fence', async () => {
    await migrateUp(url, after);
    expect(
      await first(`
        select
          reconcile_after > now() + interval '9 minutes' as waits, is_free(leased_until) as "isFree", fence
        from strava_sync`),
    ).toEqual({ waits: true, isFree: true, fence: '0' });
    expect(await first('select is_free(leased_until) as "isFree", fence from import_jobs')).toEqual({
      isFree: false,
      fence: '7',
    });
  });

  it('a row that is held stays held until its lease ends when the migration is reverted', async () => {
    await migrateUp(url, after);
    await client.query('update strava_sync set reconcile_after = null, leased_until = lease_end(300000)');
    await migrateDown(url, after);
    expect(
      await first(`
        select reconcile_after > now() + interval '4 minutes' as waits, turn
        from strava_sync
        join import_jobs using (athlete_id)`),
    ).toEqual({ waits: true, turn: '7' });
  });
});
