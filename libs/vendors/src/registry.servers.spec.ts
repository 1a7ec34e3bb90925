import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { newAthlete } from '../../../test/harness/athletes.js';
import { openTestDatabase, type OpenDatabase } from '../../../test/harness/test-database.js';
import { VENDOR_IDS } from './registry.js';

describe('the vendors of the database', () => {
  let open: OpenDatabase;
  beforeAll(async () => (open = await openTestDatabase()));
  afterAll(() => open.close());

  const idsIn = async (table: string, column: string) => {
    const { rows } = await open.database.query<{ id: string }>(
      `select ${column} as id from ${table} order by 1`,
    );
    return rows.map(({ id }) => id);
  };
  const ledgers = async () => {
    const tables = await idsIn('pg_tables', 'tablename::text');
    return tables.filter((name) => name.endsWith('_api_requests'));
  };
  const all = [...VENDOR_IDS].sort();

  it('the migrations add each vendor of the registry, and no other', async () => {
    expect(await idsIn('vendor', 'id')).toEqual(all);
    expect(await idsIn('vendor_budget_epoch', 'vendor')).toEqual(all);
    expect(await ledgers()).toEqual(all.map((id) => `${id}_api_requests`));
  });

  it('a revocation of an unknown vendor is refused', async () => {
    const statement = `
      insert into revocation (id, provider, vendor_athlete_id, token, key_version)
      values (gen_random_uuid(), 'garmin', '1', '', 1)`;
    await expect(open.database.query(statement)).rejects.toThrow(
      'violates foreign key constraint "revocation_provider"',
    );
  });

  it('add_vendor adds a vendor with its ledger and its epoch, and remove_vendor removes all three', async () => {
    await open.database.query(`select add_vendor('garmin')`);
    const athleteId = await newAthlete(open.database);
    const statement = `
      insert into garmin_api_requests (user_id, endpoint, class, window_id, day_id)
      values ($1, 'sleep', 'live', 1, 1)`;
    await open.database.query(statement, [athleteId]);
    expect(await idsIn('vendor', 'id')).toContain('garmin');
    expect(await idsIn('vendor_budget_epoch', 'vendor')).toContain('garmin');
    await open.database.query('delete from athlete where id = $1', [athleteId]);
    expect(await idsIn('garmin_api_requests', 'user_id')).toEqual([null]);
    await open.database.query(`select remove_vendor('garmin')`);
    expect([await idsIn('vendor', 'id'), await idsIn('vendor_budget_epoch', 'vendor')]).toEqual([all, all]);
    expect(await ledgers()).toEqual(all.map((id) => `${id}_api_requests`));
  });
});
