import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { loadSql } from '#platform';
import { blocksOf, plansOf, waysInto } from '../../../test/harness/plans.js';
import { openTestDatabase, type OpenDatabase } from '../../../test/harness/test-database.js';
import { AthleteSearch } from './athlete-search.js';

const ATHLETES = 100_000;
const PAGE = 50;
const HIGHEST_ID = 'ffffffff-ffff-ffff-ffff-ffffffffffff';

const statement = (name: string) => loadSql(import.meta.url, `./sql/${name}.sql`).text;

describe('AthleteSearch with 100,000 athletes, half of them connected', () => {
  let open: OpenDatabase;
  let search: AthleteSearch;

  beforeAll(async () => {
    open = await openTestDatabase([], { poolSize: 1, statementTimeoutMs: 60_000 });
    const sql = open.database;
    await sql.query(
      `insert into athlete (id, issuer, subject, created_at)
       select
         gen_random_uuid(),
         'test',
         case when n % 2 = 0 then 'auth0|' || lpad(n::text, 6, '0') else 'Person ' || n end,
         timestamptz '2026-01-01' + n * interval '1 second'
       from generate_series(1, ${ATHLETES}) n`,
    );
    await sql.query(
      `insert into connection (athlete_id, provider, vendor_athlete_id, scopes, access_token, refresh_token, key_version, expires_at)
       select id, 'strava', 's' || row_number() over (order by created_at), '{read}', 'a', 'r', 1, now()
       from athlete
       where subject like 'auth0|%'`,
    );
    await sql.query('vacuum analyze');
    search = new AthleteSearch(sql);
  }, 120_000);
  afterAll(() => open.close());

  const subjects = async (q: string, limit = PAGE) =>
    (await search.find(q, undefined, limit)).items.map(({ subject }) => subject);

  it('lists athletes newest first by pages, without a gap and without a repetition', async () => {
    const first = await search.newest(undefined, 3);
    const second = await search.newest(first.next_cursor!, 3);
    const found = [...first.items, ...second.items].map(({ subject }) => subject);
    expect(found).toEqual([
      'auth0|100000',
      'Person 99999',
      'auth0|099998',
      'Person 99997',
      'auth0|099996',
      'Person 99995',
    ]);
    expect(first.items.map(({ connections }) => connections.length)).toEqual([1, 0, 1]);
  });

  it('lists only athletes with a connection that needs a new consent, newest first by pages', async () => {
    const waiting = `vendor_athlete_id in ('s7', 's40000', 's12')`;
    await open.database.query(`update connection set status = 'needs_reauth' where ${waiting}`);
    const first = await search.toReconnect(undefined, 2);
    const second = await search.toReconnect(first.next_cursor!, 2);
    const found = [...first.items, ...second.items].map(({ subject }) => subject);
    expect(found).toEqual(['auth0|080000', 'auth0|000024', 'auth0|000014']);
    expect(first.items[0]!.connections[0]!.status).toBe('needs_reauth');
    expect(second.next_cursor).toBeNull();
  });

  it('pages a search for a beginning that half of all subjects have, in the order of the subjects', async () => {
    const first = await search.find('auth0|', undefined, 2);
    const second = await search.find('auth0|', first.next_cursor!, 2);
    const found = [...first.items, ...second.items].map(({ subject }) => subject);
    expect(found).toEqual(['auth0|000002', 'auth0|000004', 'auth0|000006', 'auth0|000008']);
  });

  it('finds an athlete by id, by eight digits of the id, by subject and by the id at a vendor', async () => {
    const { id, connections } = (await search.find('auth0|054320', undefined, 1)).items[0]!;
    for (const q of [
      id,
      id.toUpperCase(),
      id.slice(0, 8),
      id.slice(0, 13),
      connections[0]!.vendor_athlete_id,
    ])
      expect(await subjects(q)).toEqual(['auth0|054320']);
    expect(await subjects(id.slice(0, 7))).toEqual([]);
    expect((await search.show(id)).subject).toBe('auth0|054320');
  });

  it('takes a percent sign, an underscore and a backslash of a search literally', async () => {
    for (const q of ['auth0%', 'Person_1', 'Person\\']) expect(await subjects(q)).toEqual([]);
    expect(await subjects('person')).toEqual([]);
  });

  it('refuses a cursor that is not its own', async () => {
    const { next_cursor } = await search.newest(undefined, 1);
    for (const cursor of ['x', next_cursor!, Buffer.from(`${HIGHEST_ID} \0`).toString('base64url')])
      await expect(search.find('auth0|', cursor, 1)).rejects.toMatchObject({ code: 'VALIDATION_FAILED' });
  });

  it('the search reads few blocks for any page of any search', async () => {
    const range = (from: string) => [from, `${from}\u{10FFFF}`];
    const none = [HIGHEST_ID, '00000000-0000-0000-0000-000000000000'];
    const start = ['', none[1]];
    const searches = [
      [...range('auth0|'), ...none, 'auth0|', ...start, PAGE],
      [...range('auth0|'), ...none, 'auth0|', 'auth0|090000', none[1], PAGE],
      [...range('s500'), ...none, 's500', ...start, PAGE],
      [
        ...range('1'),
        '12345678-0000-0000-0000-000000000000',
        '12345678-ffff-ffff-ffff-ffffffffffff',
        '1',
        ...start,
        PAGE,
      ],
    ];
    const plans = [
      ...(await Promise.all(
        searches.map((values) => plansOf(open.database, statement('search-athletes'), values)),
      )),
      await plansOf(open.database, statement('newest-athletes'), ['infinity', HIGHEST_ID, PAGE]),
      await plansOf(open.database, statement('athletes-to-reconnect'), ['infinity', HIGHEST_ID, PAGE]),
      await plansOf(open.database, statement('newest-athletes'), ['2026-01-01T05:00:00Z', HIGHEST_ID, PAGE]),
    ].flat();
    for (const plan of plans) {
      expect(waysInto('athlete', plan)).not.toContain('all of athlete');
      expect(waysInto('connection', plan)).not.toContain('all of connection');
      expect(blocksOf(plan)).toBeLessThan(600);
    }
  });
});
