import { gzipSync } from 'node:zlib';
import { afterAll, beforeAll, beforeEach, describe, expect, it } from '@jest/globals';
import { type Database } from '#platform';
import { processingRecords } from '#processing';
import { StreamRecords } from '#streams';
import { sleepRecordsOf } from '../../libs/sleep/src/records/sleep-records.js';
import { EventRecords } from '../../libs/webhooks/src/event-records.js';
import { newAthlete } from '../harness/athletes.js';
import { openTestDatabase, type OpenDatabase } from '../harness/test-database.js';

const MEGABYTE = 1_000_000;
const KB = 1_024;

type Records = Readonly<{ read(athleteId: string): AsyncIterable<readonly object[]> }>;

describe('the pages of an archive', () => {
  let open: OpenDatabase;
  let athleteId: string;
  beforeAll(async () => {
    open = await openTestDatabase();
  });
  afterAll(() => open.close());
  beforeEach(async () => {
    athleteId = await newAthlete(open.database);
  });

  const made = (Kind: new (database: Database) => Records) => new Kind(open.database);
  async function pagesOf(records: Records) {
    const pages: Array<ReadonlyArray<Record<string, unknown>>> = [];
    for await (const page of records.read(athleteId))
      pages.push(page as ReadonlyArray<Record<string, unknown>>);
    return pages;
  }
  const bytesOf = (page: readonly object[]) => Buffer.byteLength(JSON.stringify(page));
  const insert = (statement: string, ...values: readonly unknown[]) =>
    open.database.query(statement, [...values]);

  /** Adds events of the athlete among those of another one. */
  async function addEvents(vendor: string, count: number, bytes: number): Promise<void> {
    await insert(
      `insert into connection
         (athlete_id, provider, vendor_athlete_id, scopes, access_token, refresh_token, key_version, expires_at)
       values ($1, $2, $3, '{}', '', '', 1, now())`,
      athleteId,
      vendor,
      `${athleteId}-${vendor}`,
    );
    await insert(
      `insert into webhook_event (vendor, dedupe_key, owner_id, object_type, object_id, aspect, event_time, raw)
       select $1, owner || n, owner, 'activity', n, 'create', now(), '"' || n || repeat('x', $3::int) || '"'
       from generate_series(1, $4::int) as n, unnest(array[$2, $2 || 'another']) as owner`,
      vendor,
      `${athleteId}-${vendor}`,
      bytes,
      count,
    );
  }

  it('an archive has every webhook event of all vendors once, in pages of 500 events at most', async () => {
    await addEvents('strava', 1_200, 100);
    await addEvents('polar', 30, 100);
    const pages = await pagesOf(made(EventRecords));
    expect(pages.map(({ length }) => length)).toEqual([500, 500, 230]);
    const events = pages.flat();
    expect(new Set(events.map(({ vendor, raw }) => `${String(vendor)} ${String(raw)}`)).size).toBe(1_230);
    expect(Object.keys(events[0]!).toSorted()).toEqual(
      ['id', 'vendor', 'raw', 'received_at', 'processed_at', 'outcome'].toSorted(),
    );
  });

  it('a page of an archive has about a megabyte of webhook events', async () => {
    await addEvents('strava', 100, 60 * KB);
    const pages = await pagesOf(made(EventRecords));
    expect(pages.flat()).toHaveLength(100);
    for (const page of pages) expect(bytesOf(page)).toBeLessThan(1.2 * MEGABYTE);
  });

  it('a page of an archive has about a megabyte of runs, whose results have up to 256 KB', async () => {
    await insert(
      `with activity as (
         insert into activity (
           athlete_id, provider, external_activity_id, name, sport_type, start_time, distance_m, moving_time_s,
           elapsed_time_s, elevation_gain_m, manual, private, total_photo_count, asked_at
         )
         values ($1, 'strava', '1', 'Run', 'Run', now(), 1, 1, 1, 1, false, false, 0, now())
         returning id
       ), job as (
         insert into jobs (athlete_id, activity_id, request_kind, requested_by, max_attempts)
         select $1, id, 'manual_activity', 'ann', 3 from activity
         returning job_id, activity_id
       )
       insert into runs (athlete_id, run_id, job_id, activity_id, attempt_number, worker_owner, result_json)
       select $1, gen_random_uuid(), job_id, activity_id, n, 'one', jsonb_build_object('a', repeat('x', $2))
       from job, generate_series(1, 50) as n`,
      athleteId,
      250 * KB,
    );
    const [Runs] = processingRecords;
    const pages = await pagesOf(made(Runs!));
    const runs = pages.flat();
    expect([runs.length, new Set(runs.map(({ run_id }) => run_id)).size]).toEqual([50, 50]);
    for (const page of pages) expect(bytesOf(page)).toBeLessThan(1.3 * MEGABYTE);
    expect(runs[0]).toMatchObject({
      attempt_number: expect.any(Number),
      result_json: { a: expect.any(String) },
    });
    expect(runs[0]).not.toHaveProperty('bytes');
  });

  it('a page of an archive has about a megabyte of sleep sessions, whose documents have up to 64 KB', async () => {
    await insert(
      `insert into sleep_session (
         user_id, source, record_id, date, vendor, duration_minutes, nap, state, revision, captured_at, payload_hash, event_id, raw
       )
       select subject, 'oura', n, date '2025-10-01' + n, 'oura', 400, false, 'scored', 1, now(), 1, n, '{"a":"' || repeat('x', $2) || '"}'
       from athlete, generate_series(1, 100) as n
       where id = $1`,
      athleteId,
      60 * KB,
    );
    const pages = await pagesOf(made(sleepRecordsOf('oura')));
    const sessions = pages.flat();
    expect([sessions.length, new Set(sessions.map(({ record_id }) => record_id)).size]).toEqual([100, 100]);
    for (const page of pages) expect(bytesOf(page)).toBeLessThan(1.2 * MEGABYTE);
    expect(sessions[0]).not.toHaveProperty('bytes_before');
  });

  it('an archive has a recording as it is stored, character by character, behind its external_activity_id', async () => {
    // JSON.stringify(JSON.parse(…)) would change each of these numbers and spaces.
    const stored = '{"activity_id":"a", "stream_data" : {"distance":[1.0,2.50,1e2,-0]}}';
    await insert(
      `with activity as (
         insert into activity (
           athlete_id, provider, external_activity_id, name, sport_type, start_time, distance_m, moving_time_s,
           elapsed_time_s, elevation_gain_m, manual, private, total_photo_count, asked_at
         )
         values ($1, 'strava', '77', 'Run', 'Run', now(), 1, 1, 1, 1, false, false, 0, now())
         returning id
       )
       insert into activity_stream (source, athlete_id, activity_id, stream_data, point_count, body, etag)
       select 'strava', $1, id, '{}', 4, $2, 'etag' from activity`,
      athleteId,
      gzipSync(stored),
    );
    const texts: string[] = [];
    for await (const page of new StreamRecords(open.database).read(athleteId))
      texts.push(...page.map((record) => record.toString()));
    expect(texts).toEqual([`{"external_activity_id":"77",${stored.slice(1)}`]);
  });
});
