import { afterAll, beforeAll, beforeEach, describe, expect, it } from '@jest/globals';
import { type Connections } from '#connections';
import { newAthlete } from '../../../test/harness/athletes.js';
import { openTestDatabase, type OpenDatabase } from '../../../test/harness/test-database.js';
import { Account } from './account.js';
import { Receipts } from './receipts.js';

describe('a deauthorisation that the vendor has confirmed', () => {
  let open: OpenDatabase;
  let receipts: Receipts;
  let account: Account;
  let cut: string[];
  beforeAll(async () => (open = await openTestDatabase()));
  afterAll(() => open.close());
  beforeEach(() => {
    cut = [];
    receipts = new Receipts(open.database);
    const disconnect = (athleteId: string) => Promise.resolve(cut.push(athleteId) > 0);
    account = new Account(receipts, { disconnect } as unknown as Connections);
  });

  async function connect(athleteId: string, sql = open.database): Promise<string> {
    const { rows } = await sql.query<{ at: string }>(
      `insert into connection
         (athlete_id, provider, vendor_athlete_id, scopes, access_token, refresh_token, key_version, expires_at)
       values ($1, 'strava', $2, '{}', '', '', 1, now())
       on conflict (athlete_id, provider) do update set connected_at = now()
       returning connected_at::text as at`,
      [athleteId, athleteId],
    );
    return rows[0]?.at ?? '';
  }

  it('ends the connection that was meant, and opens one receipt however often it is told', async () => {
    const athleteId = await newAthlete(open.database);
    const connectedAt = await connect(athleteId);
    for (const _ of [1, 2]) expect(await account.deauthorized(athleteId, 'strava', connectedAt)).toBe(true);
    expect(cut).toEqual([athleteId, athleteId]);
    const { count } = await open.database.query('select 1 from receipt where athlete_id = $1', [athleteId]);
    expect(count).toBe(1);
  });

  it('leaves alone the connection that was made since', async () => {
    const athleteId = await newAthlete(open.database);
    const connectedAt = await connect(athleteId);
    await connect(athleteId);
    expect(await account.deauthorized(athleteId, 'strava', connectedAt)).toBe(false);
    expect(cut).toEqual([]);
    expect(await receipts.isOpen(athleteId, 'strava')).toBe(false);
  });

  it('leaves alone the connection that is being made at that moment', async () => {
    const athleteId = await newAthlete(open.database);
    const connectedAt = await connect(athleteId);
    let told: Promise<boolean> | undefined;
    await open.database.transaction(async (sql) => {
      await sql.query('update connection set connected_at = now() where athlete_id = $1', [athleteId]);
      told = account.deauthorized(athleteId, 'strava', connectedAt);
      await sql.query('select pg_sleep(0.1)');
    });
    expect(await told).toBe(false);
    expect(await receipts.isOpen(athleteId, 'strava')).toBe(false);
  });
});
