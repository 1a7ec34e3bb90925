import { afterAll, beforeAll, beforeEach, describe, expect, it } from '@jest/globals';
import { AccountBindings, Receipts } from '#account';
import { personalRecords } from '#activities';
import { createConnections } from '#connections';
import { createLogger, timeScale } from '#platform';
import { processingRecords } from '#processing';
import { StreamRecords } from '#streams';
import { loadProductConfig } from '#vendors';
import { Deletions } from '../../libs/account/src/deletions.js';
import { Retention } from '../../libs/activities/src/retention.js';
import { NightRetention } from '../../libs/sleep/src/records/night-retention.js';
import { announced } from '../harness/announced.js';
import { newAthlete } from '../harness/athletes.js';
import { JWT_SECRET } from '../harness/environment.js';
import { openTestDatabase, type OpenDatabase } from '../harness/test-database.js';
import { testWorkers } from '../harness/test-workers.js';

const logger = createLogger({ level: 'silent', process: 'test' });
const config = loadProductConfig({
  DATABASE_URL: 'postgres://unused',
  REDIS_URL: 'redis://unused',
  NATS_URL: 'nats://unused',
  JWT_SECRET,
  ENCRYPTION_KEYS: `1:${Buffer.alloc(32, 7).toString('base64')}`,
  STRAVA_RETENTION_DAYS: '7',
  SLEEP_RETENTION_DAYS: '7',
});

describe('the end of data', () => {
  let open: OpenDatabase;
  let receipts: Receipts;
  let deletions: Deletions;
  let athleteId: string;
  beforeAll(async () => {
    open = await openTestDatabase();
    receipts = new Receipts(open.database);
    const { connections } = createConnections({
      config,
      database: open.database,
      http: { call: () => Promise.reject(new Error('no call to a vendor is expected')) },
      workers: testWorkers(),
      timeScale: timeScale(1),
      logger,
    });
    const bindings = new AccountBindings();
    bindings.records.register(
      [StreamRecords, ...processingRecords, ...personalRecords].map((Kind) => new Kind(open.database)),
    );
    bindings.remains.register([]);
    deletions = new Deletions(
      receipts,
      connections,
      { tell: () => undefined },
      open.database,
      testWorkers(),
      bindings,
      config,
      timeScale(1),
      logger,
    );
  });
  beforeEach(async () => {
    athleteId = await newAthlete(open.database);
    await open.database.query(
      `insert into connection (athlete_id, provider, vendor_athlete_id, scopes, access_token, refresh_token, key_version, expires_at)
       values ($1, 'strava', $2, '{}', '', '', 1, now())`,
      [athleteId, athleteId],
    );
    await open.database.query(
      `insert into activity (
         athlete_id, provider, external_activity_id, name, sport_type, start_time, distance_m, moving_time_s, elapsed_time_s,
         elevation_gain_m, manual, private, total_photo_count, asked_at, created_at, photos
       )
       select $1, 'strava', n, 'Run', 'Run', now(), 1, 1, 1, 1, false, false, 1, now(), now() - interval '9 days', '[{"id":"p"}]'
       from generate_series(1, 3) as n`,
      [athleteId],
    );
    await told();
  });
  afterAll(() => open.close());

  const told = async () => (await announced(open.database, athleteId)).map(({ type }) => type);
  const activities = async () =>
    (await open.database.query('select from activity where athlete_id = $1', [athleteId])).count;

  it('the deletion of an account is announced as connection.removed and athlete.deleted, not as the end of each activity', async () => {
    await receipts.open(athleteId);
    await deletions.deleteRows();
    expect(await activities()).toBe(0);
    expect(await told()).toEqual(['connection.removed', 'athlete.deleted']);
  });

  it('the deletion of a connection is announced as connection.removed alone', async () => {
    await receipts.openForConnection(open.database, athleteId, 'strava', 'requested');
    await deletions.deleteRows();
    expect(await activities()).toBe(0);
    expect(await told()).toEqual(['connection.removed']);
  });

  it('the deletion of a connection is announced after the last change of its rows, so that a reader who lists them meanwhile learns of it', async () => {
    await open.database.query(
      `insert into activity (
         athlete_id, provider, external_activity_id, name, sport_type, start_time, distance_m, moving_time_s, elapsed_time_s,
         elevation_gain_m, manual, private, total_photo_count, asked_at
       )
       values ($1, 'polar', 'twin', 'Run', 'Run', now(), 1, 1, 1, 1, false, false, 0, now())`,
      [athleteId],
    );
    await told();
    await receipts.openForConnection(open.database, athleteId, 'strava', 'requested');
    await deletions.deleteRows();
    expect(await told()).toEqual(['activity.updated', 'connection.removed']);
  });

  it('a deletion by retention is announced as one sleep.removed for each night', async () => {
    await open.database.query(
      `insert into sleep_session (
         user_id, source, record_id, date, vendor, duration_minutes, nap, state, revision, captured_at, payload_hash, event_id
       )
       select $1, 'oura', n, '2026-01-01'::date + n, 'oura', 400, false, 'scored', 1, now(), 1, n from generate_series(1, 3) n`,
      [athleteId],
    );
    await open.database.query(
      `insert into sleep_data (user_id, date, duration_minutes, vendor, captured_at, event_id)
       select user_id, date, duration_minutes, vendor, captured_at, event_id from sleep_session where user_id = $1`,
      [athleteId],
    );
    await told();
    await new NightRetention(open.database, {} as never, config, logger).runOnce();
    const removed = await announced(open.database, athleteId);
    expect(removed.map(({ type, subject_id }) => `${type} ${subject_id}`).sort()).toEqual(
      ['02', '03', '04'].map((day) => `sleep.removed 2026-01-${day}`),
    );
  });

  it('a deletion by retention is announced as one activity.deleted for each activity', async () => {
    await new Retention(open.database, {} as never, config, timeScale(1), logger).runOnce();
    expect(await activities()).toBe(0);
    expect(await told()).toEqual(['activity.deleted', 'activity.deleted', 'activity.deleted']);
  });
});
