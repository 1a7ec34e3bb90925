import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import pg from 'pg';
import { createTestDatabase } from '../harness/test-database.js';
import { migrateUp } from '../../libs/platform/src/database/migrate.js';
import { migrationClasses } from '../../libs/platform/src/database/migrations.js';

const LOWER = '7b0c1f8e-2f4c-4a39-9a0d-0d7a5f1c2e11';
const UPPER = LOWER.toUpperCase();
const MIXED = `${LOWER.slice(0, 8).toUpperCase()}${LOWER.slice(8)}`;
const OTHER = 'Ann-Who-Has-No-UUID';

const upTo = (name: string) => {
  const all = migrationClasses();
  const index = all.findIndex((Migration) => new Migration().name?.startsWith(name));
  return { before: all.slice(0, index), all: all.slice(0, index + 1) };
};

describe('nights that were stored under several spellings of a UUID', () => {
  let url: string;
  let drop: () => Promise<void>;
  let client: pg.Client;
  const { before, all } = upTo('lost_workers_and_one_case');
  beforeEach(async () => {
    ({ url, drop } = await createTestDatabase('template0'));
    await migrateUp(url, before);
    client = new pg.Client({ connectionString: url });
    await client.connect();
  });
  afterEach(async () => {
    await client.end();
    await drop();
  });

  /** Inserts the rows that the version before migration 0019 would have stored. */
  async function session(
    userId: string,
    date: string,
    minutes: number,
    { source = 'ingest', record = date, revision = 0, at = '08:00', state = 'scored' } = {},
  ) {
    const event = `${userId}-${date}-${minutes}`;
    await client.query(
      `insert into sleep_session (
         user_id, source, record_id, date, vendor, duration_minutes, nap, state, revision, captured_at, payload_hash, event_id
       )
       values ($1, $2, $3, $4, 'unknown', $5, false, $6, $7, $8, 1, $9)`,
      [userId, source, record, date, minutes, state, revision, `2026-11-01T${at}:00Z`, event],
    );
    if (state === 'scored')
      await client.query(
        `insert into sleep_data (user_id, date, duration_minutes, vendor, captured_at, event_id)
         values ($1, $2, $3, 'unknown', $4, $5)
         on conflict do nothing`,
        [userId, date, minutes, `2026-11-01T${at}:00Z`, event],
      );
  }
  const nights = async () =>
    (
      await client.query<{ night: string }>(
        `select concat_ws(' ', user_id, date, duration_minutes) as night from sleep_data order by user_id, date`,
      )
    ).rows.map(({ night }) => night);

  it('migration 0019 merges nights of one user under several spellings, and the newest version of each record wins', async () => {
    await session(LOWER, '2026-10-01', 400, { at: '08:00' });
    await session(UPPER, '2026-10-01', 410, { at: '09:00' });
    await session(MIXED, '2026-10-01', 420, { at: '08:30' });
    await session(LOWER, '2026-10-02', 500, { at: '09:00' });
    await session(UPPER, '2026-10-02', 510, { at: '08:00' });
    await session(UPPER, '2026-10-03', 300);
    // A vendor's record wins over a client's night, and a higher revision over a later time.
    const whoop = { source: 'whoop', record: 'w' };
    await session(UPPER, '2026-10-04', 310, { ...whoop, revision: 2, at: '08:00' });
    await session(LOWER, '2026-10-04', 320, { ...whoop, revision: 1, at: '09:00' });
    await session(LOWER, '2026-10-04', 600, { at: '10:00' });
    // The newer version is a deletion.
    await session(LOWER, '2026-10-05', 450, { source: 'oura', record: 'o', revision: 1 });
    await session(UPPER, '2026-10-05', 0, { source: 'oura', record: 'o', revision: 9, state: 'deleted' });
    await session(OTHER, '2026-10-01', 480);
    await migrateUp(url, all);
    expect(await nights()).toEqual([
      `${LOWER} 2026-10-01 410`,
      `${LOWER} 2026-10-02 500`,
      `${LOWER} 2026-10-03 300`,
      `${LOWER} 2026-10-04 310`,
      `${OTHER} 2026-10-01 480`,
    ]);
    const { rows } = await client.query('select distinct user_id from sleep_session order by 1');
    expect(rows).toEqual([{ user_id: LOWER }, { user_id: OTHER }]);
  });

  it('a merged night is published as removed under its old spelling and as stored under the lower-case spelling', async () => {
    await session(UPPER, '2026-10-01', 410);
    await session(LOWER, '2026-10-02', 420);
    await migrateUp(url, all);
    const { rows } = await client.query(
      `select untold.user_id, untold.date::text, sleep_data.duration_minutes as minutes
       from sleep_untold as untold
       left join sleep_data using (user_id, date)
       order by untold.user_id collate "C"`,
    );
    expect(rows).toEqual(
      [
        { user_id: LOWER, date: '2026-10-01', minutes: 410 },
        { user_id: UPPER, date: '2026-10-01', minutes: null },
      ].sort((one, two) => (one.user_id < two.user_id ? -1 : 1)),
    );
  });

  it('migration 0019 keeps only the latest erasure of a merged user and stores the athlete’s subject in lower case', async () => {
    for (const [userId, at] of [
      [LOWER, '2026-10-01'],
      [UPPER, '2026-10-03'],
      [MIXED, '2026-10-02'],
    ])
      await client.query("insert into sleep_erasure values ($1, 'ingest', $2)", [userId, at]);
    await client.query("insert into athlete (id, issuer, subject) values ($1, '', $2)", [LOWER, UPPER]);
    await migrateUp(url, all);
    const erasures = await client.query(
      "select user_id, (erased_at at time zone 'UTC')::date::text as day from sleep_erasure",
    );
    expect(erasures.rows).toEqual([{ user_id: LOWER, day: '2026-10-03' }]);
    const athletes = await client.query('select id, subject from athlete');
    expect(athletes.rows).toEqual([{ id: LOWER, subject: LOWER }]);
  });
});
