import { randomUUID } from 'node:crypto';
import { afterAll, beforeAll, describe, expect, it, jest } from '@jest/globals';
import { type NatsConnection } from '@nats-io/transport-node';
import { connectNats, CORE_STREAM, storedMessages } from '#platform';
import { tokenFor } from '../harness/environment.js';
import { eventually } from '../harness/eventually.js';
import { NatsServer } from '../harness/nats-server.js';
import { World } from '../harness/world.js';

// Some waits of these tests are longer than the usual 90 s of a test.
jest.setTimeout(180_000);

const SUBJECT = 'athlete-ally.changes';
// No server listens there, so a route that reads only from the standby fails in each of these tests.
const STANDBY_AWAY = 'postgres://reader@127.0.0.1:1/away';

interface Change {
  readonly id: string;
  readonly type: string;
  readonly athlete_id: string;
  readonly subject_id: string;
  readonly revision: number;
  readonly data: Readonly<Record<string, unknown>> | null;
}

interface ChangesPage {
  readonly items: readonly Change[];
  readonly next_cursor: string;
  readonly has_more: boolean;
}

describe('the changes of an athlete', () => {
  let nats: NatsServer;
  let connection: NatsConnection;
  let world: World;
  beforeAll(async () => {
    nats = await NatsServer.start();
    connection = await connectNats(nats.url, 'test');
    const env = { NATS_URL: nats.url, DATABASE_READ_URL: STANDBY_AWAY };
    world = await World.start({ env, workers: 2 });
  }, 120_000);
  afterAll(async () => {
    await connection?.close();
    await world?.stop();
    await nats?.stop();
  });

  const page = async (athlete: string, query = '') =>
    (await world.call<ChangesPage>(athlete, 'GET', `/v1/changes?${query}`)).body;

  async function allOf(athlete: string, filter = ''): Promise<Change[]> {
    const all: Change[] = [];
    for (let after = ''; ;) {
      const { items, next_cursor, has_more } = await page(athlete, `limit=1000${filter}${after}`);
      all.push(...items);
      if (!has_more) return all;
      after = `&after=${next_cursor}`;
    }
  }

  const listed = async (athlete: string, path: string) =>
    (await world.call<{ items: ReadonlyArray<Readonly<Record<string, unknown>>> }>(athlete, 'GET', path)).body
      .items;
  /** Polls the database, because the api limits requests. */
  const has = async (athlete: string, ...wanted: string[]) => {
    const statement = 'select distinct type from change where athlete_id = $1';
    const types = (await world.rows<{ type: string }>(statement, [athlete])).map(({ type }) => type);
    const missing = wanted.filter((type) => !types.includes(type));
    if (missing.length > 0) throw new Error(`missing: ${missing.join(', ')}`);
    return true;
  };

  async function published(): Promise<Map<string, Change>> {
    const all = new Map<string, Change>();
    for await (const batch of storedMessages(connection, { stream: CORE_STREAM, subject: `${SUBJECT}.>` }))
      for (const message of batch) {
        const change = message.json<Change>();
        expect(message.subject).toBe(`${SUBJECT}.${change.type}`);
        expect(message.headers?.get('Nats-Msg-Id')).toBe(change.id);
        all.set(change.id, change);
      }
    return all;
  }

  /** Stores activities of an athlete, whose triggers write the changes. */
  const addActivities = (athlete: string, count: number) =>
    world.rows(
      `insert into activity (
         athlete_id, provider, external_activity_id, name, sport_type, start_time, distance_m, moving_time_s, elapsed_time_s,
         elevation_gain_m, manual, private, total_photo_count, asked_at, stream_fetch_status
       )
       select $1, 'strava', gen_random_uuid(), 'Run', 'Run', now() - n * interval '1 hour', 1, 1, 1, 1, true, false, 0, now(), 'unavailable'
       from generate_series(1, $2) as n`,
      [athlete, count],
    );

  async function athleteWithRow(): Promise<string> {
    const athlete = randomUUID();
    await world.call(athlete, 'GET', '/v1/me');
    return athlete;
  }

  it('the feed and NATS have each athlete’s changes, and the last change of a subject has the data that its route answers', async () => {
    const athlete = randomUUID();
    const stranger = await athleteWithRow();
    const strava = await world.vendorAthlete(6);
    const { id: oura } = await world.control<{ id: string }>('POST', 'athletes', {
      provider: 'oura',
      activities: 1,
      // A nap is of the same date as a night.
      nights: 6,
    });
    await world.connect(athlete, strava);
    await world.connect(athlete, oura, 'oura');
    await world.control('POST', 'activities', { athlete_id: strava, name: 'By hand', manual: true });
    await eventually(
      'an import, nights, streams and runs',
      () =>
        has(
          athlete,
          ...[
            'connection.active',
            'import.completed',
            'activity.created',
            'activity.updated',
            'activity.processed',
          ],
          ...['streams.ready', 'sleep.stored'],
        ),
      180_000,
    );
    const atRest = async () =>
      world.rows(
        `select 1 from activity where stream_fetch_status in ('pending', 'fetching') or detail_status <> 'stored'
         union all select 1 from jobs where status not in ('succeeded', 'failed', 'cancelled')
         union all select 1 from import_jobs where finished_at is null
         union all select 1 from change_outbox`,
      );
    await eventually('nothing is under way', async () => (await atRest()).length === 0, 120_000);

    const changes = await allOf(athlete);
    const newest = new Map(
      changes.map((change) => [`${change.type.split('.')[0]} ${change.subject_id}`, change]),
    );
    const latest = (kinds: readonly string[], subject: string) =>
      kinds
        .flatMap((kind) => newest.get(`${kind} ${subject}`) ?? [])
        .sort((one, other) => other.revision - one.revision)[0]?.data;
    const activities = await listed(athlete, '/v1/activities?limit=200');
    expect(activities).toHaveLength(7);
    for (const item of activities) expect(latest(['activity', 'streams'], String(item.id))).toEqual(item);
    const nights = await listed(athlete, '/v1/sleep');
    expect(nights.length).toBeGreaterThanOrEqual(3);
    for (const item of nights) expect(latest(['sleep'], String(item.date))).toEqual(item);
    for (const item of await listed(athlete, '/v1/connections'))
      expect(latest(['connection'], String(item.provider))).toEqual(item);
    for (const item of await listed(athlete, '/v1/imports')) {
      const { status, message, activities_imported } = latest(['import'], String(item.id)) ?? {};
      expect({ status, message, activities_imported }).toEqual({
        status: item.status,
        message: item.message,
        activities_imported: item.activities_imported,
      });
    }
    expect(new Set(changes.map(({ athlete_id }) => athlete_id))).toEqual(new Set([athlete]));
    expect(await allOf(stranger)).toEqual([]);
    await eventually('NATS has all of them', async () => {
      const inNats = await published();
      return changes.every((change) => inNats.has(change.id));
    });
    const inNats = await published();
    for (const change of changes) expect(inNats.get(change.id)).toEqual(change);

    const edited = String(activities[0]?.external_activity_id);
    const deleted = activities[1];
    const before = (await page(athlete, 'after=latest')).next_cursor;
    await world.control('PATCH', `activities/${edited}`, { name: 'Renamed' });
    await world.control('DELETE', `activities/${String(deleted?.external_activity_id)}`);
    const [night] = await world.rows<{ record_id: string; date: string }>(
      "select record_id, to_char(date, 'YYYY-MM-DD') as date from sleep_session where source = 'oura' limit 1",
    );
    await world.control('DELETE', `sleep/${night?.record_id}`);
    const told: unknown[][] = [];
    let after = before;
    await eventually(
      'the vendors’ events',
      async () => {
        const next = await page(athlete, `after=${after}&types=activity.*,sleep.removed&wait=5`);
        after = next.next_cursor;
        told.push(...next.items.map(({ type, subject_id, data }) => [type, subject_id, data && data.name]));
        return (
          told.some(([type, , name]) => type === 'activity.updated' && name === 'Renamed') &&
          told.some(([type, subject]) => type === 'activity.deleted' && subject === deleted?.id) &&
          told.some(([type, subject]) => type === 'sleep.removed' && subject === night?.date)
        );
      },
      120_000,
    );

    // The renamed activity is processed again.
    await eventually('nothing is under way again', async () => (await atRest()).length === 0, 120_000);
    const beforeLeaving = (await page(athlete, 'after=latest')).next_cursor;
    await world.call(athlete, 'DELETE', '/v1/connections/oura');
    const receipts = "select from receipt where provider = 'oura' and completed_at is not null";
    await eventually('the receipt', async () => (await world.rows(receipts)).length > 0, 120_000);
    expect(await listed(athlete, '/v1/sleep')).toEqual([]);
    const erased = `
      select from change where athlete_id = $1 and (type = 'erased' or data ->> 'vendor' = 'oura')`;
    expect(await world.rows(erased, [athlete])).toEqual([]);
    const leaving = (await page(athlete, `after=${beforeLeaving}`)).items;
    expect(leaving.map(({ type, subject_id }) => [type, subject_id])).toEqual([
      ['connection.removed', 'oura'],
    ]);
  }, 480_000);

  it('GET /v1/changes ends a long poll of more than five seconds when a change is committed, and names the field of a wrong parameter', async () => {
    const athlete = await athleteWithRow();
    const { next_cursor } = await page(athlete, 'after=latest');
    const startedAt = performance.now();
    const empty = await page(athlete, `after=${next_cursor}&wait=6`);
    expect(performance.now() - startedAt).toBeGreaterThan(5_900);
    expect(empty).toMatchObject({ items: [], has_more: false });
    const waiting = page(athlete, `after=${empty.next_cursor}&wait=30&types=activity.created`);
    await addActivities(athlete, 1);
    expect((await waiting).items).toHaveLength(1);
    for (const [query, field] of [
      ['limit=0', 'limit'],
      ['limit=1001', 'limit'],
      ['wait=31', 'wait'],
      ['wait=-1', 'wait'],
      ['types=activity.*,odd', 'types'],
      ['after=odd', 'after'],
      [`after=${Buffer.from('2026-11-18T08:00:00.000001Z x').toString('base64url')}`, 'after'],
    ] as const) {
      const { status, body } = await world.call<{ details: string[] }>(
        athlete,
        'GET',
        `/v1/changes?${query}`,
      );
      expect([query, status, body.details[0]]).toEqual([query, 400, expect.stringMatching(`^${field}`)]);
    }
    const foreign = Buffer.from('change 999999 abcdef01').toString('base64url');
    const expired = await world.call<object>(athlete, 'GET', `/v1/changes?after=${foreign}`);
    expect(expired).toMatchObject({
      status: 410,
      body: { code: 'CURSOR_EXPIRED', oldest_cursor: expect.any(String) },
    });
    const stream = await fetch(`${world.api.url}/v1/events`, {
      headers: { authorization: `Bearer ${await tokenFor(athlete)}`, 'last-event-id': foreign },
    });
    expect([stream.status, await stream.json()]).toEqual([
      410,
      expect.objectContaining({ code: 'CURSOR_EXPIRED' }),
    ]);
  }, 120_000);

  it('neither GET /v1/changes nor GET /v1/events asks the standby of DATABASE_READ_URL, unlike GET /v1/activities', async () => {
    const athlete = await athleteWithRow();
    const standbyReads = async () => {
      const text = await (await fetch(`${world.api.url}/metrics`)).text();
      const counts = [...text.matchAll(/^database_standby_reads_total\{[^}]*\} (\d+)$/gm)];
      return counts.reduce((sum, [, count]) => sum + Number(count), 0);
    };
    const before = await standbyReads();
    await listed(athlete, '/v1/activities');
    const counted = await standbyReads();
    expect(counted).toBe(before + 1);

    const { next_cursor } = await page(athlete, 'after=latest');
    // A worker may process the activity before the answer.
    const created = 'types=activity.created';
    const waiting = page(athlete, `after=${next_cursor}&wait=20&${created}`);
    const headers = { authorization: `Bearer ${await tokenFor(athlete)}`, 'last-event-id': next_cursor };
    const events = await fetch(`${world.api.url}/v1/events`, { headers });
    await addActivities(athlete, 1);
    expect((await waiting).items).toHaveLength(1);
    expect((await page(athlete, created)).items).toHaveLength(1);
    let told = '';
    for await (const chunk of events.body!) {
      told += Buffer.from(chunk as Uint8Array).toString();
      if (told.includes('activity.created')) break;
    }
    expect(await standbyReads()).toBe(counted);
  }, 60_000);

  it('a service key with the scope reads the changes of all athletes, and with the header those of one athlete', async () => {
    const athletes = [await athleteWithRow(), await athleteWithRow()];
    const admin = { authorization: `Bearer ${await tokenFor('operator', { role: 'admin' })}` };
    const keyWith = async (scopes: readonly string[]) => {
      const made = { name: 'backend', scopes };
      const { body } = await world.call<{ key: string }>('operator', 'POST', '/admin/keys', made, admin);
      return { authorization: `Bearer ${body.key}` };
    };
    const key = await keyWith(['events']);
    const read = async (query: string, headers: Readonly<Record<string, string>>) =>
      world.call<ChangesPage>('backend', 'GET', `/v1/changes?${query}`, undefined, headers);
    const { next_cursor } = (await read('after=latest', key)).body;
    const query = `after=${next_cursor}&types=activity.created`;
    for (const athlete of athletes) await addActivities(athlete, 1);
    const ofAll = (await read(query, key)).body.items.map(({ athlete_id }) => athlete_id);
    expect(ofAll).toEqual(athletes);
    const ofOne = (await read(query, { ...key, 'pacekeeper-athlete': athletes[1]! })).body.items;
    expect(ofOne.map(({ athlete_id }) => athlete_id)).toEqual([athletes[1]]);
    expect((await read('', await keyWith(['read', 'write']))).status).toBe(403);
  });

  it('a failed import, a rate limit, streams without data and a lost consent are announced once, with the data that the routes answer', async () => {
    await world.pauseBackfill();
    const athlete = randomUUID();
    const strava = await world.vendorAthlete(3, { manual_share: 0 });
    await world.connect(athlete, strava);
    await eventually('the first import', () => has(athlete, 'import.completed'), 120_000);
    const { next_cursor: before } = await page(athlete, 'after=latest');
    const announced = async (type: string) =>
      (await page(athlete, `after=${before}&types=${type}`)).items.map(({ data }) => data);
    /** An import that is not the answer of an earlier one. */
    const importAgain = async () => {
      const past =
        "update import_jobs set finished_at = finished_at - interval '1 day' where athlete_id = $1";
      await world.rows(past, [athlete]);
      return (await world.call<{ id: string }>(athlete, 'POST', '/v1/imports', { type: 'full' })).body.id;
    };
    const importOf = async (id: string) => (await world.call(athlete, 'GET', `/v1/imports/${id}`)).body;

    for (const [kind, status] of [
      ['malformed', 'failed'],
      ['not_found', 'unavailable'],
    ] as const) {
      const [activity] = await world.rows<{ id: string; external_activity_id: string }>(
        "select id, external_activity_id from activity where athlete_id = $1 and stream_fetch_status = 'pending' limit 1",
        [athlete],
      );
      const { id = '', external_activity_id: resource } = activity ?? {};
      await world.simulator.fault('strava', 'streams', kind, { resource });
      await eventually(
        `streams are ${status}`,
        async () => (await world.streams(athlete, id, 10)).body.status === status,
      );
      // A transaction that began earlier and is still open holds the change back.
      const changes = await eventually(`streams.${status}`, async () => {
        const found = await announced(`streams.${status}`);
        return found.length > 0 && found;
      });
      expect(changes).toEqual([(await listed(athlete, '/v1/activities')).find((item) => item.id === id)]);
    }

    // Strava answers 429 to each listing, so the import waits for the end of a window, of 1 s here, again and again.
    await world.simulator.fault('strava', 'activities', 'http_429');
    const limited = await importAgain();
    await eventually('the rate limit', async () => (await announced('import.rate_limited')).length > 0);
    await eventually('the same answer as the newest announcement', async () => {
      const newest = (await announced('import.rate_limited')).at(-1);
      expect(newest).toEqual(await importOf(limited));
      return true;
    });
    // Each wait is announced once, with an end of its own.
    const ends = (await announced('import.rate_limited')).map((data) => data?.retry_after);
    expect(new Set(ends).size).toBe(ends.length);

    // The vendor has rotated the refresh token, and we never learn the new one.
    await world.simulator.fault('strava', 'token', 'lost_answer', { count: 1 });
    await world.control('POST', 'expire', { athlete_id: strava, provider: 'strava' });
    await world.rows("update connection set expires_at = now() - interval '1 second' where athlete_id = $1", [
      athlete,
    ]);
    await eventually('the import has failed', () => has(athlete, 'import.failed'), 120_000);
    expect(await announced('import.failed')).toEqual([await importOf(limited)]);
    expect(await announced('connection.needs_reauth')).toEqual(await listed(athlete, '/v1/connections'));
    await world.simulator.clearFaults();
  }, 540_000);
});
