import { randomUUID } from 'node:crypto';
import { afterAll, afterEach, beforeAll, describe, expect, it, jest } from '@jest/globals';
import { eventually } from '../harness/eventually.js';
import { CLIENT } from '../harness/simulator.js';
import { World } from '../harness/world.js';

// Some waits of these tests are longer than the usual 90 s of a test.
jest.setTimeout(180_000);

const AUTHORIZATION = `Basic ${Buffer.from(`${CLIENT.id}:${CLIENT.secret}`).toString('base64')}`;
const DEADLINE_MS = 120_000;
const DATE = new Date(Date.now() - 86_400_000).toISOString().slice(0, 10);

interface Webhook {
  readonly id: string;
  readonly url: string;
  readonly active: boolean;
}

interface NightBody {
  readonly date: string;
  readonly duration_minutes: number;
  readonly quality_score: number | null;
  readonly vendor: string;
}

let world: World;
beforeAll(async () => (world = await World.start()));
afterEach(() => world.simulator.habit('polar', { edits_send_events: false, events_after_revocation: false }));
afterAll(() => world?.stop());

const webhookCall = (method: string, path = '') =>
  fetch(`${world.simulator.url}/polar/v3/webhooks${path}`, {
    method,
    headers: { authorization: AUTHORIZATION },
  });

/** Waits until Polar's webhook points at the api of this world and is active. */
const subscribed = () =>
  eventually(
    "Polar's webhook",
    async () => {
      const { data } = (await (await webhookCall('GET')).json()) as { data: Webhook[] };
      return (
        data.length === 1 && data[0]?.active === true && data[0].url === `${world.api.url}/webhooks/polar`
      );
    },
    DEADLINE_MS,
  );

async function connected(): Promise<{ athlete: string; vendorId: string }> {
  const athlete = randomUUID();
  const vendorId = await world.simulator.newAthlete('polar', { activities: 0, nights: 0 });
  await world.connect(athlete, vendorId, 'polar');
  return { athlete, vendorId };
}

const deliver = (body: string, headers: Record<string, string> = {}) =>
  fetch(`${world.api.url}/webhooks/polar`, {
    method: 'POST',
    body,
    headers: { 'content-type': 'application/json', ...headers },
  });

const eventsOf = (vendorId: string) =>
  world.rows<{ object_type: string; object_id: string; outcome: string | null }>(
    "select object_type, object_id, outcome from webhook_event where vendor = 'polar' and owner_id = $1 order by id",
    [vendorId],
  );

describe("Polar's webhook", () => {
  it('a PING of Polar is answered 200 without a signature, and stores nothing', async () => {
    const ping = await deliver('{"event":"PING","timestamp":"2026-11-18T06:30:00Z"}', {
      'polar-webhook-event': 'PING',
    });
    expect(ping.status).toBe(200);
    expect(await world.rows("select 1 from webhook_event where vendor = 'polar'")).toEqual([]);
  });

  it('a delivery of Polar with a forged or missing signature is answered 401, and stores nothing', async () => {
    await subscribed();
    const { vendorId } = await connected();
    const body = JSON.stringify({ event: 'SLEEP', user_id: Number(vendorId), date: DATE });
    const event = { 'polar-webhook-event': 'SLEEP' };
    expect((await deliver(body, event)).status).toBe(401);
    expect((await deliver(body, { ...event, 'polar-webhook-signature': '0'.repeat(64) })).status).toBe(401);
    expect(await eventsOf(vendorId)).toEqual([]);
  });

  it('the calls about Polar’s webhook are charged to its budget', async () => {
    await subscribed();
    const charged = await world.rows("select from polar_api_requests where endpoint = 'subscriptions'");
    // The list and the creation at least.
    expect(charged.length).toBeGreaterThanOrEqual(2);
  });

  it('a deactivated webhook of Polar is activated by the next check, and its events are handled again', async () => {
    await subscribed();
    expect((await webhookCall('POST', '/deactivate')).status).toBe(200);
    await subscribed();
    const { athlete, vendorId } = await connected();
    await slept(vendorId);
    await becomes(athlete, { vendor: 'polar' });
  });

  it('a deleted webhook of Polar is created again, and its events are verified with the new key', async () => {
    await subscribed();
    const { data } = (await (await webhookCall('GET')).json()) as { data: Webhook[] };
    await webhookCall('DELETE', `/${data[0]?.id}`);
    await subscribed();
    const { athlete, vendorId } = await connected();
    await slept(vendorId);
    await becomes(athlete, { vendor: 'polar' });
  });
});

const slept = (vendorId: string, order: Record<string, unknown> = {}) =>
  world.control<{ id: string; date: string }>('POST', 'sleep', {
    athlete_id: vendorId,
    date: DATE,
    duration_minutes: 431,
    score: 80,
    ...order,
  });

// The test reads the night from the database, because the api limits requests.
const becomes = async (athlete: string, expected: Partial<NightBody>) => {
  const isThere = async () => {
    const [night] = await world.rows<NightBody>(
      'select duration_minutes, quality_score, vendor from sleep_data where user_id = $1 and date = $2',
      [athlete, DATE],
    );
    return (
      night && Object.entries(expected).every(([name, value]) => night[name as keyof NightBody] === value)
    );
  };
  try {
    await eventually(JSON.stringify(expected), isThere, DEADLINE_MS);
  } catch (cause) {
    throw new Error(`the night is not as expected: ${JSON.stringify(await sleepStateOf(athlete))}`, {
      cause,
    });
  }
};

/** Everything that decides whether an athlete's night comes: the connection, its events and its reconciliation. */
const sleepStateOf = (athlete: string) =>
  world.rows(
    `select connection.status, to_json(sleep_comparison) as reconciliation, (
       select json_agg(json_build_array(object_id, outcome, attempts, last_error, next_attempt_at))
       from webhook_event
       where vendor = provider and owner_id = vendor_athlete_id
     ) as events
     from connection
     left join sleep_comparison on connection_id = connection.id
     where connection.athlete_id = $1`,
    [athlete],
  );

describe('nights of Polar', () => {
  it('a night of Polar is listed after its event, and corrected after another event', async () => {
    await subscribed();
    await world.simulator.habit('polar', { edits_send_events: true });
    const { athlete, vendorId } = await connected();
    const { id } = await slept(vendorId);
    await becomes(athlete, { duration_minutes: 431, quality_score: 80 });
    const { body } = await world.call<{ items: NightBody[] }>(athlete, 'GET', '/v1/sleep');
    expect(body.items).toMatchObject([
      { date: DATE, duration_minutes: 431, quality_score: 80, vendor: 'polar' },
    ]);
    await world.control('PATCH', `sleep/${id}`, { score: 61 });
    await becomes(athlete, { duration_minutes: 431, quality_score: 61 });
    expect((await eventsOf(vendorId)).map(({ object_type, object_id }) => [object_type, object_id])).toEqual([
      ['sleep', DATE],
      ['sleep', DATE],
    ]);
  });

  it('a night of Polar that comes after its event is fetched by a later attempt', async () => {
    await subscribed();
    const { athlete, vendorId } = await connected();
    await world.simulator.fault('polar', 'sleep', 'not_found', { count: 3 });
    await slept(vendorId);
    await becomes(athlete, { duration_minutes: 431 });
  });

  it('a corrected night of Polar without an event is found by the reconciliation, and an unchanged one is not stored again', async () => {
    await subscribed();
    const { athlete, vendorId } = await connected();
    const { id } = await slept(vendorId);
    await becomes(athlete, { quality_score: 80 });
    const compared = async () => {
      const statement = `
        update sleep_comparison set compared_at = compared_at - interval '1 day', next_at = now()
        where begun_at is null and compared_at is not null
          and connection_id = (select id from connection where provider = 'polar' and vendor_athlete_id = $1)
        returning compared_at::text`;
      let before: string | undefined;
      await eventually(
        'the connection is compared',
        async () => {
          const [row] = await world.rows<{ compared_at: string }>(statement, [vendorId]);
          return (before = row?.compared_at);
        },
        DEADLINE_MS,
      );
      await eventually(
        'the connection is compared again',
        async () => {
          const [row] = await world.rows(
            `select 1 from sleep_comparison where begun_at is null and compared_at > $2::timestamptz + interval '1 day'
               and connection_id = (select id from connection where provider = 'polar' and vendor_athlete_id = $1)`,
            [vendorId, before],
          );
          return row;
        },
        DEADLINE_MS,
      );
    };
    const version = async () =>
      (
        await world.rows<{ event_id: string }>('select event_id from sleep_data where user_id = $1', [
          athlete,
        ])
      )[0]?.event_id;
    // The first comparison may have begun before the event, and store the same night once more.
    await compared();
    const first = await version();
    await compared();
    expect(await version()).toBe(first);
    await world.control('PATCH', `sleep/${id}`, { score: 61 });
    await compared();
    await becomes(athlete, { quality_score: 61 });
  });

  it('a night from before the connection to Polar is not listed', async () => {
    await subscribed();
    const athlete = randomUUID();
    const vendorId = await world.simulator.newAthlete('polar', { activities: 0, nights: 3 });
    await world.connect(athlete, vendorId, 'polar');
    await slept(vendorId);
    await becomes(athlete, { duration_minutes: 431 });
    expect((await world.call<{ items: NightBody[] }>(athlete, 'GET', '/v1/sleep')).body.items).toHaveLength(
      1,
    );
  });

  const needsConsent = (vendorId: string) =>
    eventually(
      'a new consent is needed',
      async () => {
        const [row] = await world.rows<{ status: string }>(
          "select status from connection where provider = 'polar' and vendor_athlete_id = $1",
          [vendorId],
        );
        return row?.status === 'needs_reauth';
      },
      DEADLINE_MS,
    );

  it('the 401 after a revocation at Polar asks for a new consent, and keeps the nights', async () => {
    await subscribed();
    await world.simulator.habit('polar', { events_after_revocation: true });
    const { athlete, vendorId } = await connected();
    await slept(vendorId);
    await becomes(athlete, { duration_minutes: 431 });
    await world.simulator.deauthorize('polar', vendorId);
    await slept(vendorId, { score: 50 });
    await needsConsent(vendorId);
    await becomes(athlete, { duration_minutes: 431, quality_score: 80 });
  });

  it('the 403 after an athlete has withdrawn Polar’s mandatory consents asks for a new consent and keeps the nights, and fetches go on after the new consent', async () => {
    await subscribed();
    const { athlete, vendorId } = await connected();
    const consents = (state: 'given' | 'missing') =>
      fetch(`${world.simulator.url}/polar/__sim/users/${vendorId}`, {
        method: 'PUT',
        headers: { 'content-type': 'application/json' },
        body: JSON.stringify({ consents: state }),
      });
    await slept(vendorId);
    await becomes(athlete, { duration_minutes: 431 });
    await consents('missing');
    await slept(vendorId, { score: 50 });
    await needsConsent(vendorId);
    await becomes(athlete, { duration_minutes: 431, quality_score: 80 });
    await consents('given');
    await world.connect(athlete, vendorId, 'polar');
    await becomes(athlete, { quality_score: 50 });
  });
});

interface ActivityBody {
  readonly id: string;
  readonly provider: string;
  readonly external_activity_id: string;
  readonly name: string;
  readonly sport_type: string;
  readonly start_time: string;
  readonly distance_m: number;
}

interface TrueExercise {
  readonly id: string;
  readonly start_date: string;
  readonly document: { readonly distance: number };
}

describe('exercises of Polar', () => {
  const trained = (vendorId: string, order: Record<string, unknown> = {}) =>
    world.control<TrueExercise>('POST', 'activities', { athlete_id: vendorId, duration_s: 1_200, ...order });

  const rowOf = async (externalId: string) => {
    const [row] = await world.rows<{ id: string; sport_type: string; stream_fetch_status: string }>(
      "select id, sport_type, stream_fetch_status from activity where provider = 'polar' and external_activity_id = $1",
      [externalId],
    );
    return row;
  };
  const stored = (externalId: string) =>
    eventually(
      'the exercise has streams',
      async () => (await rowOf(externalId))?.stream_fetch_status === 'success',
      DEADLINE_MS,
    );
  const dueNow = async (athlete: string) => {
    // An exercise that is missing from before the connection does not count as deleted.
    await world.rows(
      `update connection
       set connected_at = connected_at - interval '1 day'
       from athlete
       where athlete.id = athlete_id and subject = $1 and provider = 'polar'`,
      [athlete],
    );
    await world.rows(
      `update activity_sync
       set last_sync_at = now() - interval '9 days', reconciled_at = null, whole_history_reconciled_at = null, reconcile_after = null
       from athlete
       where athlete.id = activity_sync.athlete_id and subject = $1 and provider = 'polar'`,
      [athlete],
    );
  };
  const listedOnce = (athlete: string) =>
    eventually(
      'the first listing',
      async () =>
        (
          await world.rows(
            `select 1 from activity_sync join athlete on athlete.id = athlete_id
             where subject = $1 and provider = 'polar' and last_sync_at is not null`,
            [athlete],
          )
        ).length > 0,
      DEADLINE_MS,
    );

  it('an exercise of Polar and its recording are in the API after its event', async () => {
    await subscribed();
    const { athlete, vendorId } = await connected();
    const order = { sport_type: 'Run', recording_rates: { 3: 5 }, gap_s: 60 };
    const { id, start_date, document } = await trained(vendorId, order);
    await stored(id);
    const { body } = await world.call<{ items: ActivityBody[] }>(athlete, 'GET', '/v1/activities');
    expect(body.items).toMatchObject([
      {
        provider: 'polar',
        external_activity_id: id,
        name: 'Road running',
        sport_type: 'Run',
        distance_m: document.distance,
      },
    ]);
    const [activity] = body.items;
    expect(Date.parse(activity?.start_time ?? '')).toBe(Date.parse(start_date));
    const { body: streams } = await world.streams(athlete, activity?.id ?? '', 10);
    expect(streams).toMatchObject({ status: 'success', source: 'polar' });
    const { time = [], heartrate = [], ...others } = streams.stream_data ?? {};
    expect(time.length).toBeGreaterThan(1_000);
    expect(heartrate.filter((bpm) => bpm === null)).toHaveLength(60);
    expect(Object.keys(others).sort()).toEqual([
      'altitude',
      'cadence',
      'distance',
      'latlng',
      'temp',
      'velocity_smooth',
    ]);
  });

  it('an edit of an exercise at Polar is applied after another event', async () => {
    await subscribed();
    await world.simulator.habit('polar', { edits_send_events: true });
    const { vendorId } = await connected();
    const { id } = await trained(vendorId);
    await stored(id);
    await world.control('PATCH', `activities/${id}`, { detailed_sport_info: 'HIKING' });
    await eventually('the edit', async () => (await rowOf(id))?.sport_type === 'Hike', DEADLINE_MS);
  });

  it('the reconciliation finds an exercise without an event, and a deletion, at Polar', async () => {
    await subscribed();
    const { athlete, vendorId } = await connected();
    await listedOnce(athlete);
    const { id } = await trained(vendorId);
    await stored(id);
    await world.simulator.fault('polar', 'webhooks', 'drop');
    const { id: unannounced } = await trained(vendorId);
    await world.simulator.clearFaults();
    await world.control('DELETE', `activities/${id}`);
    await dueNow(athlete);
    await stored(unannounced);
    await eventually('the deletion', async () => (await rowOf(id)) === undefined, DEADLINE_MS);
  });

  it('an exercise of Polar that is older than the list is kept, although Polar answers 404 for it', async () => {
    await subscribed();
    const { athlete, vendorId } = await connected();
    await listedOnce(athlete);
    const old = await trained(vendorId, { start_date: new Date(Date.now() - 40 * 86_400_000).toISOString() });
    const recent = await trained(vendorId);
    await stored(old.id);
    await stored(recent.id);
    await world.control('DELETE', `activities/${old.id}`);
    await world.control('DELETE', `activities/${recent.id}`);
    await dueNow(athlete);
    await eventually('the deletion', async () => (await rowOf(recent.id)) === undefined, DEADLINE_MS);
    expect(await rowOf(old.id)).toBeDefined();
  });
});
