import { createHmac, randomUUID } from 'node:crypto';
import { afterAll, beforeAll, describe, expect, it, jest } from '@jest/globals';
import { jetstream } from '@nats-io/jetstream';
import { connect } from '@nats-io/transport-node';
import { verificationTokenOf } from '#vendors';
import { fuzz } from '../chaos/fuzz/run.js';
import { Random } from '../chaos/random.js';
import { AnswerValidator, operationsOf, readDocument } from '../harness/openapi-document.js';
import { tokenFor } from '../harness/environment.js';
import { eventually } from '../harness/eventually.js';
import { EPISODE } from '../harness/playback.js';
import { CLIENT } from '../harness/simulator.js';
import { World } from '../harness/world.js';

// Some waits of these tests are longer than the usual 90 s of a test.
jest.setTimeout(180_000);

const INGEST_KEY = 'an-ingest-key-for-tests';
const UNKNOWN_ID = randomUUID();
const FUZZ_SEED = 11;
// The day on which a history ends decides what is in it, such as photos.
const HISTORY_UNTIL = '2026-11-19T00:00:00Z';

interface CallOptions {
  readonly as?: string | null;
  readonly body?: unknown;
  readonly headers?: Readonly<Record<string, string>>;
}

interface Answer {
  readonly status: number;
  readonly headers: Headers;
  readonly body: Record<string, unknown>;
}

interface Items {
  readonly items: ReadonlyArray<Record<string, unknown>>;
}

describe('answers of the api, checked against docs/openapi.json', () => {
  const described = new AnswerValidator();
  const athlete = randomUUID();
  let world: World;
  let operator: string;
  let activities: Items['items'];

  beforeAll(async () => {
    world = await World.start({ env: { INGEST_API_KEYS: INGEST_KEY } });
    operator = await tokenFor(randomUUID(), { role: 'admin' });
    const history = { manual_share: 0.1, seed: 4_711, history_until: HISTORY_UNTIL };
    await world.connect(athlete, await world.vendorAthlete(12, history));
    await eventually(
      'all are processed, and the import is complete',
      async () => {
        const processed = await world.rows('select 1 from processed_activities');
        return processed.length === 12 && (await imports('completed')).length === 1;
      },
      150_000,
    );
    activities = ((await get('/v1/activities')).body as unknown as Items).items;
  });
  afterAll(async () => {
    await world?.stop();
  });

  /** Sends a request and checks the answer against the document. With `as: null` the request has no token. */
  async function call(
    method: string,
    path: string,
    { as = athlete, body, headers }: CallOptions = {},
  ): Promise<Answer> {
    const authorization: Record<string, string> =
      as === null ? {} : { authorization: `Bearer ${await tokenOf(as)}` };
    const type: Record<string, string> = body === undefined ? {} : { 'content-type': 'application/json' };
    const text = typeof body === 'string' ? body : JSON.stringify(body);
    const answer = await fetch(`${world.api.url}${path}`, {
      method,
      redirect: 'manual',
      headers: { accept: 'application/json', ...authorization, ...type, ...headers },
      ...(body === undefined ? {} : { body: text }),
    });
    const read = await bodyOf(answer);
    described.assert({ method, path, status: answer.status, body: read });
    return { status: answer.status, headers: answer.headers, body: read as Answer['body'] };
  }
  const get = (path: string, more?: CallOptions) => call('GET', path, more);
  const post = (path: string, more?: CallOptions) => call('POST', path, more);
  const tokenOf = (as: string) => (as === operator ? Promise.resolve(as) : tokenFor(as));
  const imports = (ended: string) =>
    world.rows<{ id: string }>('select id from import_jobs where status = $1', [ended]);
  const status = async (answer: Promise<Answer>) => (await answer).status;
  const consentCallback = async (provider: string) => {
    const { body } = await post(`/v1/connections/${provider}`, { as: athlete, body: {} });
    const vendorId = await world.simulator.newAthlete(provider);
    return world.simulator.consent(body['authorize_url'] as string, { athlete_id: vendorId });
  };

  it('/openapi.json is the committed document with the servers of the process', async () => {
    const { body } = await get('/openapi.json', { as: null });
    expect({ ...body, servers: [] }).toEqual({ ...readDocument(), servers: [] });
    expect(body['servers']).toEqual([
      expect.objectContaining({ url: '/' }),
      expect.objectContaining({ url: world.env['PUBLIC_URL'] }),
    ]);
  });

  it('openapi.json describes the probes, the version and GET /v1/me', async () => {
    for (const path of ['/health/live', '/health/ready', '/version']) await get(path, { as: null });
    expect((await get('/v1/me')).body).toMatchObject({ athlete_id: athlete });
    expect(await status(get('/v1/me', { as: null }))).toBe(401);
  });

  it('openapi.json describes the sessions of browsers and the one-time codes', async () => {
    const { body: code } = await post('/v1/session/codes');
    const signedIn = await post('/v1/session', { as: null, body: { code: code['code'] } });
    const cookie = signedIn.headers.get('set-cookie')?.split(';')[0] ?? '';
    await get('/v1/session', { as: null, headers: { cookie } });
    expect(await status(call('DELETE', '/v1/session', { as: null, headers: { cookie } }))).toBe(403);
    const headers = { cookie, 'x-csrf-token': signedIn.body['csrf_token'] as string };
    expect(await status(call('DELETE', '/v1/session', { as: null, headers }))).toBe(204);
    expect(await status(get('/v1/session', { as: null, headers: { cookie } }))).toBe(401);
    expect(await status(post('/v1/session', { as: null, body: { token: await tokenFor(athlete) } }))).toBe(
      201,
    );
    expect(await status(post('/v1/session', { as: null, body: { code: code['code'] } }))).toBe(401);
    expect(await status(post('/v1/session', { as: null, body: {} }))).toBe(400);
  });

  it('openapi.json describes activities with laps, splits and photos, and a manual activity', async () => {
    expect(activities.length).toBe(12);
    const details = [];
    for (const { id } of activities) details.push((await get(`/v1/activities/${id as string}`)).body);
    for (const { provider, external_activity_id: external } of details)
      expect([provider, typeof external]).toEqual(['strava', 'string']);
    const [lap] = details.flatMap(({ laps }) => laps as Array<Record<string, unknown>>);
    expect(lap).toMatchObject({ number: 1, name: 'Lap 1', distance_m: expect.any(Number) });
    expect(typeof lap?.['id']).toBe('string');
    expect(details.some(({ splits }) => (splits as unknown[]).length > 0)).toBe(true);
    expect(details.some(({ photos }) => (photos as unknown[]).length > 0)).toBe(true);
    expect(details.some(({ manual }) => manual)).toBe(true);
  });

  it('openapi.json describes pages and filters of activities, with the answers 400 and 404', async () => {
    const first = await get('/v1/activities?limit=5&provider=strava&from=2000-01-01');
    expect(first.body['items']).toHaveLength(5);
    await get(`/v1/activities?limit=5&cursor=${first.body['next_cursor'] as string}`);
    expect((await get('/v1/activities?provider=oura')).body['items']).toEqual([]);
    for (const query of ['limit=0', 'limit=x', 'provider=garmin', 'from=yesterday', 'cursor=x', 'colour=red'])
      expect(await status(get(`/v1/activities?${query}`))).toBe(400);
    expect(await status(get(`/v1/activities/${UNKNOWN_ID}`))).toBe(404);
    expect(await status(get('/v1/activities/%00'))).toBe(400);
  });

  it('openapi.json describes the answers for whole streams, parts, unchanged streams and a manual activity', async () => {
    for (const { id } of activities) await get(`/v1/activities/${id as string}/streams`);
    const { id } = activities.find(({ manual }) => !manual) ?? {};
    const path = `/v1/activities/${id as string}/streams`;
    const whole = await get(path, { headers: { prefer: 'wait=5' } });
    expect(whole.body).toMatchObject({ status: 'success', stream_data: { time: expect.any(Array) } });
    expect(whole.headers.get('preference-applied')).toBe('wait=5');
    await get(`${path}?channels=time,heartrate&points=50`);
    const etag = whole.headers.get('etag') ?? '';
    expect(await status(get(path, { headers: { 'if-none-match': etag } }))).toBe(304);
    expect(await status(get(`${path}?points=1`))).toBe(400);
    expect(await status(get(`/v1/activities/${UNKNOWN_ID}/streams`))).toBe(404);
  });

  it('openapi.json describes the results of the processor, and jobs with the answers 404 and 409', async () => {
    const found = [];
    for (const { id } of activities)
      found.push((await get(`/v1/activities/${id as string}/state?jobs=true`)).body);
    const shapes = found.map(({ result }) => (result as { profile: string }).profile);
    expect(shapes).toContain('unrecorded');
    expect(await status(get(`/v1/activities/${UNKNOWN_ID}/state`))).toBe(404);

    const { body: job } = await post('/v1/activities/latest/process');
    await post(`/v1/activities/${activities[1]?.['id'] as string}/process`);
    await get(`/v1/jobs/${job['job_id'] as string}`);
    expect(await status(post(`/v1/jobs/${found[0]?.['last_job_id'] as string}/cancel`))).toBe(409);
    for (const path of [`/v1/activities/${UNKNOWN_ID}/process`, `/v1/jobs/${UNKNOWN_ID}/cancel`])
      expect(await status(post(path))).toBe(404);
    expect(await status(post('/v1/activities/latest/process', { as: randomUUID() }))).toBe(404);
  });

  it('openapi.json describes a job that is cancelled before a worker claims it', async () => {
    await Promise.all(world.workers.splice(0).map((worker) => worker.stop()));
    const { body } = await post('/v1/activities/latest/process');
    const cancelled = await post(`/v1/jobs/${body['job_id'] as string}/cancel`);
    expect(cancelled.body).toMatchObject({ status: 'cancelled' });
    await world.startWorker();
  });

  it('openapi.json describes imports, the events of an import and the errors', async () => {
    const { body } = await post('/v1/imports', { body: { type: 'incremental', since: '2024-01-01' } });
    const path = `/v1/imports/${body['id'] as string}`;
    await get(path);
    await get(`${path}/events`);
    expect([200, 409]).toContain(await status(call('DELETE', path)));
    const { body: other } = await post('/v1/imports', { body: { type: 'full' } });
    const { body: page } = await get('/v1/imports?limit=1');
    await get(`/v1/imports?cursor=${encodeURIComponent(page['next_cursor'] as string)}`);
    for (const wrong of ['limit=0', 'cursor=nonsense'])
      expect(await status(get(`/v1/imports?${wrong}`))).toBe(400);
    expect([200, 409]).toContain(await status(call('DELETE', `/v1/imports/${other['id'] as string}`)));
    const [ended] = await imports('completed');
    expect(await status(call('DELETE', `/v1/imports/${ended?.id}`))).toBe(409);
    for (const wrong of [{}, { type: 'half' }, '{'])
      expect(await status(post('/v1/imports', { body: wrong }))).toBe(400);
    const text = { 'content-type': 'text/plain' };
    expect(await status(post('/v1/imports', { body: 'full', headers: text }))).toBe(415);
    expect(await status(post('/v1/imports', { body: 'x'.repeat(65_537) }))).toBe(413);
    expect(await status(post('/v1/imports', { as: randomUUID(), body: { type: 'full' } }))).toBe(409);
    expect(await status(get(`/v1/imports/${UNKNOWN_ID}`))).toBe(404);
    expect(await status(get(`/v1/imports/${UNKNOWN_ID}/events`))).toBe(404);
  });

  it('openapi.json describes changes, their events and the errors', async () => {
    const { body: first } = await get('/v1/changes?limit=1');
    expect(first['items']).toHaveLength(1);
    const after = first['next_cursor'] as string;
    await get(`/v1/changes?limit=1000&types=activity.*,sleep.stored&after=${after}`);
    await get('/v1/changes?after=latest');
    await get('/v1/events', { headers: { 'last-event-id': after } });
    const expired = Buffer.from('change 999999999 abcdef01').toString('base64url');
    expect(await status(get(`/v1/changes?after=${expired}`))).toBe(410);
    expect(await status(get('/v1/events', { headers: { 'last-event-id': expired } }))).toBe(410);
    for (const wrong of ['limit=0', 'after=nonsense', 'types=odd', 'wait=31'])
      expect(await status(get(`/v1/changes?${wrong}`))).toBe(400);
  });

  it('openapi.json describes connections, a consent and its confirmation', async () => {
    expect((await get('/v1/connections')).body['items']).toHaveLength(1);
    const { pathname, search } = await consentCallback('oura');
    const offer = await get(`${pathname}${search}`, { as: null });
    const confirm = { confirm: offer.body['confirm'] };
    expect(await status(post('/v1/connections/oura/confirm', { as: randomUUID(), body: confirm }))).toBe(404);
    await post('/v1/connections/oura/confirm', { body: confirm });
    expect(await status(post('/v1/connections/oura/confirm', { body: confirm }))).toBe(410);
    expect(await status(post('/v1/connections/oura/confirm', { body: {} }))).toBe(400);
    expect(await status(post('/v1/connections/garmin', { body: {} }))).toBe(404);
    const return_url = 'https://elsewhere.example';
    expect(await status(post('/v1/connections/strava', { body: { return_url } }))).toBe(400);
    expect(await status(get(`${pathname}${search}`, { as: null }))).toBe(400);
    expect(await status(get('/oauth/garmin/callback', { as: null }))).toBe(404);
    await call('DELETE', '/v1/connections/oura');
    expect(await status(call('DELETE', '/v1/connections/whoop'))).toBe(404);
  });

  it('openapi.json describes the answers to the form of the consent page', async () => {
    const { pathname, search } = await consentCallback('whoop');
    const page = await fetch(`${world.api.url}${pathname}${search}`, { headers: { accept: 'text/html' } });
    const field = (name: string, html: string) =>
      new RegExp(`name="${name}" value="([^"]+)"`).exec(html)?.[1] ?? '';
    const html = await page.text();
    const form = new URLSearchParams({
      confirm: field('confirm', html),
      csrf: field('csrf', html),
      decision: 'yes',
    });
    const headers = {
      accept: 'text/html',
      'content-type': 'application/x-www-form-urlencoded',
      cookie: page.headers.get('set-cookie')?.split(';')[0] ?? '',
    };
    expect(await status(post(pathname, { as: null, body: form.toString(), headers }))).toBe(200);
    const json = { ...headers, accept: 'application/json', cookie: '' };
    expect(await status(post(pathname, { as: null, body: form.toString(), headers: json }))).toBe(403);
  });

  it('openapi.json describes the ingest of sleep and the list of nights', async () => {
    const ingest = (body: unknown, headers: Record<string, string> = { 'x-api-key': INGEST_KEY }) =>
      post('/api/v1/ingest/sleep', { as: null, body, headers });
    const night = { userId: athlete, date: '2025-10-02', durationMinutes: 420, raw: { qualityScore: 85 } };
    await ingest(night);
    await eventually('the night is there', async () => {
      const ofNight = 'select 1 from sleep_data where user_id = $1 and date = $2';
      const rows = await world.rows(ofNight, [athlete, night.date]);
      return rows.length > 0;
    });
    const { body } = await get('/v1/sleep?from=2025-10-01&to=2025-10-03&limit=1');
    expect(body['items']).toHaveLength(1);
    expect(await status(ingest(night, {}))).toBe(401);
    expect(await status(ingest({ userId: athlete }))).toBe(400);
    const keyed = { 'x-api-key': INGEST_KEY, 'idempotency-key': randomUUID() };
    await ingest(night, keyed);
    expect(await status(ingest({ ...night, durationMinutes: 1 }, keyed))).toBe(409);
    expect(await status(get('/v1/sleep?limit=401'))).toBe(400);
    const chosen = { provider: null, is_chosen: true, reason: 'longest', duration_minutes: 420 };
    expect((await get(`/v1/sleep/${night.date}`)).body).toMatchObject({
      date: night.date,
      records: [chosen],
    });
    expect(await status(get('/v1/sleep/2025-10-03'))).toBe(404);
    expect(await status(get('/v1/sleep/2025-02-30'))).toBe(400);
  });

  it('openapi.json describes the answers to webhooks of Strava, Oura and WHOOP', async () => {
    const asVendor = { as: null } as const;
    const secret = world.env['STRAVA_WEBHOOK_PATH_SECRET'] ?? '';
    const token = world.env['STRAVA_WEBHOOK_VERIFY_TOKEN'] ?? '';
    const challenge = (hub: string) =>
      `/webhooks/strava/${secret}?hub.mode=subscribe&hub.challenge=c&hub.verify_token=${hub}`;
    expect(await status(get(challenge(token), asVendor))).toBe(200);
    expect(await status(get(challenge('other'), asVendor))).toBe(403);
    const event = {
      aspect_type: 'create',
      event_time: 1_794_900_000,
      object_id: 1,
      object_type: 'activity',
      owner_id: 1,
      subscription_id: 5,
      updates: {},
    };
    expect(await status(post(`/webhooks/strava/${secret}`, { as: null, body: event }))).toBe(200);
    expect(await status(post(`/webhooks/strava/${secret}`, { as: null, body: [] }))).toBe(400);
    expect(await status(post('/webhooks/strava/other', { as: null, body: event }))).toBe(404);

    const verify = (verification: string) => `/webhooks/oura?verification_token=${verification}&challenge=c`;
    expect(await status(get(verify(verificationTokenOf(CLIENT.secret)), asVendor))).toBe(200);
    expect(await status(get(verify('other'), asVendor))).toBe(401);
    const now = Date.now();
    const oura = { event_type: 'create', data_type: 'sleep', object_id: randomUUID(), user_id: 'x' };
    const ouraEvent = { ...oura, event_time: new Date(now).toISOString() };
    const whoopEvent = { user_id: 1, id: randomUUID(), type: 'sleep.updated', trace_id: randomUUID() };
    const signed = (body: object, encoding: 'hex' | 'base64', at: string) => {
      const hmac = createHmac('sha256', CLIENT.secret).update(`${at}${JSON.stringify(body)}`);
      const signature = hmac.digest(encoding);
      return encoding === 'hex' ? signature.toUpperCase() : signature;
    };
    const ouraAt = String(Math.floor(now / 1_000));
    const ouraHeaders = {
      'x-oura-timestamp': ouraAt,
      'x-oura-signature': signed(ouraEvent, 'hex', ouraAt),
    };
    expect(await status(post('/webhooks/oura', { as: null, body: ouraEvent, headers: ouraHeaders }))).toBe(
      200,
    );
    expect(await status(post('/webhooks/oura', { as: null, body: ouraEvent }))).toBe(401);
    const whoopHeaders = {
      'x-whoop-signature-timestamp': String(now),
      'x-whoop-signature': signed(whoopEvent, 'base64', String(now)),
    };
    expect(await status(post('/webhooks/whoop', { as: null, body: whoopEvent, headers: whoopHeaders }))).toBe(
      200,
    );
    expect(await status(post('/webhooks/whoop', { as: null, body: whoopEvent }))).toBe(401);
  });

  it('openapi.json describes the add-on’s answers, with and without something to play, and 304 for a client that has the answer', async () => {
    const addon = (path: string) => get(`/addon/${path}`, { as: null });
    for (const path of [
      'manifest.json',
      'catalog/series/guided-workouts.json',
      'catalog/series/guided-workouts/search=hills.json',
      'meta/series/pacekeeper:base-building.json',
    ]) {
      const { headers } = await addon(path);
      const known = { 'if-none-match': headers.get('etag') ?? '' };
      expect([path, await status(get(`/addon/${path}`, { as: null, headers: known }))]).toEqual([path, 304]);
    }
    await addon('catalog/series/other.json');
    expect(await status(addon('meta/series/pacekeeper:nothing.json'))).toBe(404);
    await addon(`stream/series/${EPISODE}.json`);
    await addon('stream/series/other.json');
    await addon('clips/broker_error.mp4');
    expect(await status(addon('clips/other.mp4'))).toBe(404);
  });

  it('openapi.json describes operators’ routes with the answers 400, 403 and 404', async () => {
    const admin = (method: string, path: string) => call(method, `/admin/${path}`, { as: operator });
    const [{ id } = {}] = activities;
    await admin('GET', 'observability');
    await admin('POST', `activities/${id as string}/reset-stream-fetch`);
    await admin('POST', `athletes/${athlete}/backfill`);
    await admin('POST', 'backfills/pause');
    await admin('POST', 'backfills/resume');
    for (const path of ['jobs', 'jobs?status=succeeded&limit=2', 'config-snapshots?limit=1', 'dlq'])
      await admin('GET', path);
    for (const path of ['jobs?limit=x', 'config-snapshots?cursor=x', 'dlq?limit=x', 'dlq?cursor=x', 'dlq/x'])
      expect(await status(admin('GET', path))).toBe(400);
    for (const path of [`activities/${UNKNOWN_ID}/reset-stream-fetch`, `athletes/${UNKNOWN_ID}/backfill`])
      expect(await status(admin('POST', path))).toBe(404);
    expect(await status(admin('GET', 'dlq/999999'))).toBe(404);
    await world.rows(
      `insert into webhook_event
         (vendor, dedupe_key, owner_id, object_type, object_id, aspect, event_time, raw, processed_at, outcome, attempts)
       values ('whoop', 'set aside', '7', 'sleep', 's', 'update', now(), '{}', now(), 'set_aside', 20)`,
    );
    const events = await admin('GET', 'webhook-events?vendor=whoop&status=set_aside');
    const [event] = (events.body as unknown as Items).items;
    expect(event).toMatchObject({ status: 'set_aside', object_id: 's', next_attempt_at: null });
    const retry = `webhook-events/${event?.['id'] as string}/retry`;
    expect((await admin('POST', retry)).body).toMatchObject({ status: 'waiting', attempts: 0 });
    expect(await status(admin('POST', retry))).toBe(404);
    expect(await status(admin('GET', 'webhook-events?vendor=nobody'))).toBe(400);
    expect(await world.rows("select target from operator_action where action = 'webhook.retry'")).toEqual([
      { target: event?.['id'] },
    ]);
    expect(await status(get('/admin/observability'))).toBe(403);
  });

  it('openapi.json describes operators’ views of activities, failures, imports, receipts and the gate', async () => {
    const admin = (method: string, path: string, body?: unknown) =>
      call(method, `/admin/${path}`, { as: operator, body });
    const [{ id } = {}] = activities;
    const { body: activity } = await admin('GET', `activities/${id as string}`);
    expect(activity).toMatchObject({ athlete_id: athlete, stream: { status: expect.any(String) } });
    expect(activity['jobs']).not.toEqual([]);
    expect(await status(admin('GET', `activities/${UNKNOWN_ID}`))).toBe(404);
    for (const path of [`jobs?activity_id=${id as string}`, `jobs?athlete_id=${athlete}&status=succeeded`])
      expect((await admin('GET', path)).body['items']).not.toEqual([]);
    for (const path of ['imports?status=completed', `imports?athlete_id=${athlete}&limit=1`])
      expect((await admin('GET', path)).body['items']).not.toEqual([]);
    await admin('GET', 'receipts?limit=1');
    await admin('GET', 'dlq?reason=max-deliver&subject=dlq.x.max-deliver');
    for (const path of ['imports?status=odd', 'imports?cursor=x', 'receipts?cursor=x', 'jobs?activity_id=x'])
      expect(await status(admin('GET', path))).toBe(400);
    await get(`/addon/stream/series/${EPISODE}.json`, { as: null });
    const { body: gate } = await admin('GET', 'gate');
    expect(gate).toMatchObject({ places_used: expect.any(Number), capacity: expect.any(Number) });
    expect(gate['decisions_last_hour']).not.toEqual([]);
  });

  it('openapi.json describes failures by reason, and the reset of many streams', async () => {
    const reset = (body?: unknown) => post('/admin/streams/reset', { as: operator, body });
    const other = randomUUID();
    await get('/v1/me', { as: other });
    await world.rows(
      `insert into activity (
         athlete_id, provider, external_activity_id, name, sport_type, start_time, distance_m, moving_time_s, elapsed_time_s,
         elevation_gain_m, manual, private, total_photo_count, asked_at, stream_fetch_status, stream_fetch_error,
         stream_fetch_retry_count, stream_fetch_attempted_at
       )
       values ($1, 'strava', '0', 'Run', 'Run', '2001-01-01', 1, 1, 1, 1, false, false, 0, now(), 'failed', 'made up', 3, now())`,
      [other],
    );
    const { body } = await get('/admin/failures?error=made+up', { as: operator });
    expect(body['items']).toMatchObject([
      { error: 'made up', count: 1, stuck: 1, samples: [{ retry_at: null }] },
    ]);
    await get('/admin/failures', { as: operator });
    expect((await reset({ error: 'unheard of', athlete_id: athlete })).body).toEqual({ matched: 0 });
    expect((await reset()).body).toEqual({ matched: 1 });
    for (const wrong of [{ error: '' }, { athlete_id: 'x' }, { reason: 'misspelt' }])
      expect(await status(reset(wrong))).toBe(400);
  });

  it('openapi.json describes what operators read, with the answers 400, 403 and 404', async () => {
    const admin = (path: string) => get(`/admin/${path}`, { as: operator });
    const page = await admin('athletes?limit=1');
    expect(page.body['items']).toHaveLength(1);
    const [found] = ((await admin(`athletes?q=${athlete}`)).body as unknown as Items).items;
    expect(found).toMatchObject({
      id: athlete,
      activities: 12,
      backfill: { pending: expect.any(Number) },
      import: { provider: 'strava', message: expect.any(String) },
    });
    const providers = (found?.['connections'] as Items['items']).map(({ provider }) => provider);
    expect(providers).toContain('strava');
    expect(await status(admin(`athletes/${athlete}`))).toBe(200);
    expect(await status(admin(`athletes/${UNKNOWN_ID}`))).toBe(404);
    const { body: traffic } = await admin('traffic?vendor=strava');
    expect(traffic['buckets']).toHaveLength(96);
    const { body: audit } = await admin('audit?limit=1&action=key.create');
    expect(audit).toMatchObject({ next_cursor: null });
    const { body: settings } = await admin('settings');
    const secrets = [INGEST_KEY, world.env['JWT_SECRET'], world.env['ENCRYPTION_KEYS'], CLIENT.secret];
    for (const secret of secrets) expect(JSON.stringify(settings)).not.toContain(secret);
    expect(settings['versions']).toMatchObject({ node: process.versions.node, redis: expect.any(String) });
    const { body: queues } = await admin('queues');
    expect((queues as unknown as Items).items.map(({ queue }) => queue)).toContain('imports');
    const overview = await admin('events');
    expect(overview.body).toMatchObject({ backfills_paused: expect.any(Boolean) });
    for (const path of ['athletes?q=', 'athletes?cursor=x', 'traffic', 'traffic?vendor=x', 'audit?cursor=x'])
      expect(await status(admin(path))).toBe(400);
    for (const path of ['athletes', 'traffic?vendor=strava', 'audit', 'settings', 'queues', 'events'])
      expect(await status(get(`/admin/${path}`))).toBe(403);
    const write = { method: 'POST', headers: { authorization: `Bearer ${operator}` } };
    expect((await fetch(`${world.api.url}/admin/queues`, write)).status).toBe(405);
  });

  it('openapi.json describes service keys, and the routes that only a service key may use', async () => {
    const made = await post('/admin/keys', {
      as: operator,
      body: { name: 'backend', scopes: ['read', 'write'] },
    });
    const { id, key } = made.body as { id: string; key: string };
    expect((await get('/admin/keys?limit=1', { as: operator })).body['items']).toHaveLength(1);
    expect(await status(post('/admin/keys', { as: operator, body: { name: 'backend' } }))).toBe(400);
    const byKey = { as: null, headers: { authorization: `Bearer ${key}` } } as const;
    const body = { subject: `idp|${randomUUID()}` };
    const statuses = [
      await status(post('/v1/athletes', { ...byKey, body })),
      await status(post('/v1/athletes', { ...byKey, body })),
    ];
    expect(statuses).toEqual([201, 200]);
    await get('/v1/athletes?limit=1', byKey);
    expect((await get('/v1/activities', byKey)).body).toMatchObject({ code: 'ATHLETE_REQUIRED' });
    const headers = { ...byKey.headers, 'pacekeeper-athlete': athlete };
    expect((await get('/v1/me', { as: null, headers })).body).toMatchObject({ role: 'service' });
    expect(await status(get('/v1/athletes'))).toBe(403);
    expect(await status(call('DELETE', `/admin/keys/${id}`, { as: operator }))).toBe(204);
    expect(await status(call('DELETE', `/admin/keys/${UNKNOWN_ID}`, { as: operator }))).toBe(404);
  });

  it('openapi.json describes dead letters, including a dead letter that is not JSON', async () => {
    const connection = await connect({ servers: world.env.NATS_URL });
    for (const text of ['{"eventId":"1","payload":{}}', 'no JSON', '7'])
      await jetstream(connection).publish('athlete-ally.sleep.raw-received', text);
    await connection.close();
    const letters = async () => (await get('/admin/dlq', { as: operator })).body as unknown as Items;
    await eventually('three dead letters', async () => (await letters()).items.length >= 3);
    const [one, two] = (await letters()).items;
    const at = (letter?: Record<string, unknown>) => `/admin/dlq/${letter?.['seq'] as number}`;
    await get(at(one), { as: operator });
    await post(`${at(one)}/replay`, { as: operator });
    await call('DELETE', at(two), { as: operator });
    await post('/admin/dlq/replay', { as: operator, body: { reason: 'no-such-reason', seqs: [1] } });
    await post('/admin/dlq/discard', { as: operator });
    for (const wrong of [{ seqs: [] }, { seqs: ['x'] }, { reasons: 'misspelt' }])
      expect(await status(post('/admin/dlq/discard', { as: operator, body: wrong }))).toBe(400);
  });

  it('openapi.json describes webhook endpoints and their deliveries', async () => {
    const headers = { authorization: `Bearer ${await world.serviceKey('events')}` };
    const by = (body?: object) => ({ as: null, headers, body });
    const url = 'https://app.invalid/hooks';
    const { body } = await post('/v1/webhook-endpoints', by({ url, types: ['sleep.*'] }));
    const one = `/v1/webhook-endpoints/${body['id'] as string}`;
    await get('/v1/webhook-endpoints', by());
    await get(one, by());
    await call('PATCH', one, by({ description: null, types: ['*'] }));
    await post(`${one}/rotate-secret`, by());
    const { body: test } = await post(`${one}/test`, by());
    await get(`${one}/deliveries?status=pending`, by());
    await post(`${one}/deliveries/${test['id'] as string}/redeliver`, by());
    await post(`${one}/replay`, by({ from: '2020-01-01' }));
    const operated = `/admin/webhook-endpoints/${body['id'] as string}`;
    const health = await get('/admin/webhook-endpoints', { as: operator });
    expect(health.body['items']).toMatchObject([{ id: body['id'], status: 'active' }]);
    await get(`${operated}/deliveries?limit=1`, { as: operator });
    await post(`${operated}/deliveries/${test['id'] as string}/redeliver`, { as: operator });
    expect((await post(`${operated}/disable`, { as: operator })).body).toMatchObject({ status: 'disabled' });
    const again = post(`${operated}/deliveries/${test['id'] as string}/redeliver`, { as: operator });
    expect(await status(again)).toBe(409);
    expect((await post(`${operated}/enable`, { as: operator })).body).toMatchObject({ status: 'active' });
    expect(await status(post(`/admin/webhook-endpoints/${UNKNOWN_ID}/enable`, { as: operator }))).toBe(404);
    await call('DELETE', one, by());
    expect(await status(get(one, by()))).toBe(404);
    expect(await status(post('/v1/webhook-endpoints', by({ url, types: ['x'] })))).toBe(400);
  });

  it('openapi.json describes the export, the deletion and its receipt', async () => {
    await get('/v1/account/export');
    const { body } = await call('DELETE', '/v1/account');
    const receipt = () => get(`/v1/receipts/${body['receipt_id'] as string}`, { as: null });
    await eventually(
      'the deletion is completed',
      async () => (await receipt()).body['status'] === 'completed',
    );
    expect(await status(get(`/v1/receipts/${UNKNOWN_ID}`, { as: null }))).toBe(404);
  });

  it('GET /v1/me answers with numbers in the RateLimit headers', async () => {
    const { headers } = await get('/v1/me');
    for (const name of ['ratelimit-limit', 'ratelimit-remaining', 'ratelimit-reset'])
      expect(headers.get(name)).toMatch(/^\d+$/);
  });

  // The long form, with more requests: `npm run chaos fuzz`. Cases that fail are kept in test/chaos/corpus.
  it('random requests are answered within 5 s and as openapi.json says, and no random message blocks another', async () => {
    const ids = activities.map(({ id }) => id as string);
    const random = new Random(FUZZ_SEED);
    const options = { world, natsUrl: world.env.NATS_URL ?? '', ingestKey: INGEST_KEY, random, ids };
    const { found } = await fuzz({ ...options, ofEach: 3, messages: 60 });
    expect(found).toEqual([]);
    expect([world.api, ...world.workers].map(({ hasEnded }) => hasEnded)).toEqual([false, false]);
  });

  it('every operation of openapi.json has answered with success in the tests of this file', () => {
    const ids = operationsOf(readDocument()).map(([, { operationId }]) => operationId);
    expect(ids.filter((id) => !described.succeeded.has(id))).toEqual([]);
  });
});

/** The parsed JSON, or the first event of a stream; undefined for any other type. */
async function bodyOf(answer: Response): Promise<unknown> {
  const type = answer.headers.get('content-type') ?? '';
  if (type.startsWith('text/event-stream') && answer.body) return firstEvent(answer.body);
  if (!type.startsWith('application/json')) {
    await answer.arrayBuffer();
    return undefined;
  }
  return answer.json();
}

async function firstEvent(body: ReadableStream<Uint8Array>): Promise<unknown> {
  let text = '';
  for await (const bytes of body) {
    text += Buffer.from(bytes).toString();
    const data = /^data: (\{.*\})$/m.exec(text)?.[1];
    if (data) return JSON.parse(data);
  }
  throw new Error(`The stream ended without an event: ${text}`);
}
