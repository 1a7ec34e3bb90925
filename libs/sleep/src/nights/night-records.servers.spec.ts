import { afterAll, beforeAll, beforeEach, describe, expect, it } from '@jest/globals';
import fc from 'fast-check';
import { type Database, loadSql, NotFound } from '#platform';
import { MODEL_TIMEOUT_MS, modelRuns } from '../../../../test/harness/model-runs.js';
import { openTestDatabase, type OpenDatabase } from '../../../../test/harness/test-database.js';
import { plansOf, waysInto } from '../../../../test/harness/plans.js';
import { NO_EVENT, rederiveNights } from '../normalise/sleep-store.js';
import { NightRecords } from './night-records.js';

const DATE = '2025-10-02';
const USER = 'ann';

interface Given {
  readonly source?: 'ingest' | 'oura' | 'whoop';
  readonly minutes?: number;
  readonly nap?: boolean;
  readonly state?: 'scored' | 'pending' | 'deleted';
  readonly capturedAt?: string;
  readonly raw?: object;
}

describe('the records of a night', () => {
  let open: OpenDatabase;
  let sql: Database;
  let records: NightRecords;
  beforeAll(async () => {
    open = await openTestDatabase();
    sql = open.database;
    records = new NightRecords(sql);
  });
  afterAll(() => open.close());
  beforeEach(() => sql.query('truncate sleep_session, sleep_data'));

  const store = (id: string, { source = 'oura', minutes = 400, ...given }: Given = {}) =>
    sql.query(
      `insert into sleep_session (
         user_id, source, record_id, date, vendor, duration_minutes, quality_score, nap, state, revision, captured_at, payload_hash,
         event_id, raw
       )
       values ($1, $2, $3, $4, $5, $6, 80, $7, $8, 1, $9, hashtext($3), $3, $10)`,
      [
        USER,
        source,
        id,
        DATE,
        source === 'ingest' ? 'unknown' : source,
        minutes,
        given.nap ?? false,
        given.state ?? 'scored',
        given.capturedAt ?? '2025-10-02T08:00:00Z',
        given.raw ? JSON.stringify(given.raw) : null,
      ],
    );
  const reasons = async () =>
    (await records.find(USER, DATE)).records.map(({ external_id, reason }) => [external_id, reason]);

  it('the longest scored record that is no nap is the night, and each other record says why it is not', async () => {
    await store('long', { minutes: 480 });
    await store('short', { source: 'whoop', minutes: 450 });
    await store('app', { source: 'ingest', minutes: 600 });
    await store('nap', { minutes: 500, nap: true });
    await store('unscored', { minutes: 700, state: 'pending' });
    await store('gone', { minutes: 700, state: 'deleted' });
    const night = await records.find(USER, DATE);
    expect(night).toMatchObject({ date: DATE, duration_minutes: 480, quality_score: 80, vendor: 'oura' });
    expect(night.records[0]).toMatchObject({ external_id: 'long', provider: 'oura', is_chosen: true });
    expect(night.records.filter(({ is_chosen }) => is_chosen)).toHaveLength(1);
    expect(Object.fromEntries(await reasons())).toEqual({
      long: 'longest',
      short: 'shorter',
      app: 'vendor_preferred',
      nap: 'nap',
      unscored: 'unscored',
      gone: 'deleted',
    });
    expect(night.records.find(({ external_id }) => external_id === 'app')!.provider).toBeNull();
  });

  it('the record that was captured later is the night if two records have the same length', async () => {
    await store('early', { capturedAt: '2025-10-02T07:00:00Z' });
    await store('late', { source: 'whoop', capturedAt: '2025-10-02T09:00:00Z' });
    expect(await reasons()).toEqual([
      ['late', 'longest'],
      ['early', 'older'],
    ]);
  });

  it.each([
    ['Oura', { bedtime_start: '2025-10-01T23:00:00+02:00', bedtime_end: '2025-10-02T07:00:00+02:00' }],
    ['WHOOP', { start: '2025-10-01T21:00:00.000Z', end: '2025-10-02T05:00:00.000Z' }],
    ['Polar', { sleep_start_time: '2025-10-01T23:00:00+02:00', sleep_end_time: '2025-10-02T07:00:00+02:00' }],
  ])('a record of %s shows when the sleep began and ended', async (_, raw) => {
    await store('one', { raw });
    expect((await records.find(USER, DATE)).records).toMatchObject([
      { start: '2025-10-01T21:00:00.000Z', end: '2025-10-02T05:00:00.000Z' },
    ]);
  });

  it('a record without times, or with other values in their place, shows neither time', async () => {
    await store('one', { raw: { start: 'bedtime', end: 7 } });
    await store('two');
    for (const record of (await records.find(USER, DATE)).records)
      expect(record).toMatchObject({ start: null, end: null });
  });

  it('a date with naps only has records and no night; one with deleted records only is not found', async () => {
    await store('nap', { nap: true });
    expect(await records.find(USER, DATE)).toMatchObject({ duration_minutes: null, vendor: null });
    await sql.query(`update sleep_session set state = 'deleted'`);
    await expect(records.find(USER, DATE)).rejects.toThrow(NotFound);
    await expect(records.find('bob', DATE)).rejects.toThrow(NotFound);
  });

  it(
    'the chosen record is the night that is derived from the same records',
    async () => {
      const given = fc.record({
        source: fc.constantFrom('ingest' as const, 'oura' as const, 'whoop' as const),
        minutes: fc.constantFrom(60, 420),
        nap: fc.boolean(),
        state: fc.constantFrom('scored' as const, 'pending' as const, 'deleted' as const),
        capturedAt: fc.constantFrom('2025-10-02T07:00:00Z', '2025-10-02T08:00:00Z'),
      });
      await fc.assert(
        fc.asyncProperty(fc.array(given, { minLength: 1, maxLength: 6 }), async (all) => {
          await sql.query('truncate sleep_session, sleep_data');
          for (const [index, one] of all.entries()) await store(`record-${index}`, one);
          await rederiveNights(sql, [{ user_id: USER, date: DATE, event_id: NO_EVENT }]);
          const { rows } = await sql.query<{ event_id: string }>('select event_id from sleep_data');
          const view = await records.find(USER, DATE).catch(() => undefined);
          const chosen = view?.records.find(({ is_chosen }) => is_chosen);
          expect(chosen?.external_id).toBe(rows[0]?.event_id);
        }),
        modelRuns(60),
      );
    },
    MODEL_TIMEOUT_MS,
  );

  it('the records of a date are read by an index, among 50,000 records of others', async () => {
    await sql.query(
      `insert into sleep_session (
         user_id, source, record_id, date, vendor, duration_minutes, nap, state, revision, captured_at, payload_hash, event_id
       )
       select 'user ' || n % 100, 'oura', n, '2025-10-02'::date - n / 100, 'oura', 1, false, 'scored', 1, now(), 1, n
       from generate_series(1, 50000) n`,
    );
    await sql.query('analyze sleep_session');
    const { text } = loadSql(import.meta.url, './sql/find-records.sql');
    for (const plan of await plansOf(sql, text, ['user 7', DATE]))
      expect(waysInto('sleep_session', plan)).not.toContain('all of sleep_session');
  });
});
