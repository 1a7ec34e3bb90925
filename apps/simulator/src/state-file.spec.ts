import { mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { afterAll, beforeEach, describe, expect, it } from '@jest/globals';
import { Harness, Receiver, until } from './simulator.harness.js';
import { Core } from './core/index.js';
import { ManualTime } from './core/manual-time.harness.js';
import * as polar from './polar/polar.harness.js';
import { signPolarEvent } from './polar/webhook.js';
import { StateFile } from './state-file.js';
import { Callback, CLIENT_ID, connect, SECRETS } from './wearables/wearable.harness.js';

const INTERVAL_MS = 200;

const folders: string[] = [];
let folder: string;
let stateFile: string;
let sim: Harness;
let generation = 0;

// This runs after the harness's `afterAll`, when no simulator writes to the folder any more.
afterAll(() => folders.forEach((each) => rmSync(each, { recursive: true })));

beforeEach(() => {
  folder = mkdtempSync(path.join(tmpdir(), 'simulator-state-'));
  folders.push(folder);
  stateFile = path.join(folder, 'state.json');
});

/** Starts a new simulator with the same state file. The new client id keeps the harness from reusing a closed simulator. */
function successor(): Promise<Harness> {
  return Harness.open({ stateFile, apps: { broker: { clientId: String(generation++) } } });
}

async function restarted(): Promise<Harness> {
  sim.time.advance(INTERVAL_MS);
  const later = await successor();
  later.time.advance(INTERVAL_MS);
  return later;
}

const page = (of: Harness, token: string) => of.get('/api/v3/athlete/activities?per_page=200', token);

describe('a simulator restarted from a state file', () => {
  beforeEach(async () => {
    sim = await successor();
  });

  it('a restarted simulator answers the same bytes for derived, made and edited activities, and 404 for a deleted one', async () => {
    const { id, accessToken } = await sim.connect({ activities: 40, seed: 5, manual_share: 0.2 });
    const twin = await sim.connect({ activities: 40, seed: 5, private_share: 0.4 });
    const run = await sim.sim('/activities', { athlete_id: id, repetitions: 4, streams_late_s: 10 });
    await sim.sim('/activities', {
      athlete_id: id,
      sport_type: 'Ride',
      name: 'With “quotes”',
      private: true,
    });
    const ids = ((await page(sim, accessToken)).body as { id: number }[]).map((activity) =>
      String(activity.id),
    );
    await sim.json('PATCH', `/__sim/activities/${ids[5]!}`, { name: 'Edited', private: true });
    await sim.call('DELETE', `/__sim/activities/${ids[6]!}`);
    await sim.json('PATCH', `/__sim/activities/${run.id}`, { description: 'Made, then edited' });
    sim.time.advance(10_000);

    const later = await restarted();
    later.time.advance(10_000);
    expect((await page(later, accessToken)).text).toBe((await page(sim, accessToken)).text);
    expect((await page(later, twin.accessToken)).text).toBe((await page(sim, twin.accessToken)).text);
    for (const known of [run.id, ids[5]!, ids[20]!]) {
      for (const below of ['', '/streams?keys=time,latlng,heartrate', '/laps']) {
        const at = `/api/v3/activities/${known}${below}`;
        expect((await later.get(at, accessToken)).text).toBe((await sim.get(at, accessToken)).text);
      }
      expect((await later.get(`/__sim/activities/${known}`)).text).toBe(
        (await sim.get(`/__sim/activities/${known}`)).text,
      );
    }
    expect((await later.get(`/api/v3/activities/${ids[6]!}`, accessToken)).status).toBe(404);
  });

  it('a restarted simulator keeps the users, sessions, nights, used codes and the webhook of Polar', async () => {
    const strava = await sim.connect({ activities: 10, seed: 5 });
    const { id, code, token } = await polar.connect(sim, { activities: 5, nights: 5 });
    const callback = await Callback.open(() => sim.time.nowMs());
    callback.respond = () => ({ status: 200 });
    const terms = { events: ['SLEEP'], url: callback.url };
    const { body: created } = await polar.webhookCall(sim, 'POST', '', terms);
    const workouts = ((await page(sim, strava.accessToken)).body as { id: number }[]).map(({ id }) =>
      String(id),
    );
    for (const same_as of workouts.slice(0, 10)) await polar.train(sim, id, { same_as });
    const deleted = await polar.train(sim, id);
    await sim.call('DELETE', `/__sim/activities/${deleted.id}`);
    await sim.sim('/sleep', { athlete_id: id, date: '2026-11-16' });
    await callback.waitForEvents(2);

    const later = await restarted();
    for (const path of ['/exercises?samples=true&zones=true&route=true', '/users/sleep', `/users/${id}`]) {
      const before = await sim.get(`/polar/v3${path}`, token);
      expect(before.status).toBe(200);
      expect((await later.get(`/polar/v3${path}`, token)).text).toBe(before.text);
    }
    expect((await polar.train(later, id)).id).not.toBe(deleted.id);
    expect((await polar.webhookCall(later, 'GET')).body.data).toMatchObject([{ id: created.data.id }]);
    await later.sim('/sleep', { athlete_id: id, date: '2026-11-17' });
    const event = (await callback.waitForEvents(3))[2]!;
    const key = created.data.signature_secret_key as string;
    expect(event.headers['polar-webhook-signature']).toBe(signPolarEvent(key, event.text));
    expect((await polar.askToken(later, code)).status).toBe(400);
    expect((await later.get('/polar/v3/exercises', token)).status).toBe(401);
    await callback.close();
  });

  it('a restarted simulator gives no id of an athlete or of a deleted activity a second time', async () => {
    const { id } = await sim.connect({ activities: 3, seed: 9 });
    const deleted = await sim.sim('/activities', { athlete_id: id });
    await sim.call('DELETE', `/__sim/activities/${deleted.id}`);
    const later = await restarted();
    expect(BigInt((await later.sim('/activities', { athlete_id: id })).id)).toBeGreaterThan(
      BigInt(deleted.id as string),
    );
    expect((await later.connect()).id).not.toBe(id);
  });

  it('a restarted simulator accepts valid tokens and unused codes, and refuses used codes and rotated or revoked tokens', async () => {
    const [kept, left] = [await sim.connect(), await sim.connect()];
    const { code } = await sim.sim('/athletes', { provider: 'strava', activities: 1 });
    await sim.sim('/deauthorize', { athlete_id: left.id });
    const whoop = await connect(sim, 'whoop');

    const later = await restarted();
    later.time.advance(1000);
    expect((await later.get('/api/v3/athlete', kept.accessToken)).status).toBe(200);
    expect((await later.get('/api/v3/athlete', left.accessToken)).status).toBe(401);
    expect((await later.refresh(left.refreshToken)).status).toBe(400);
    expect((await later.get('/whoop/v2/activity/sleep', whoop.accessToken)).status).toBe(200);
    expect((await later.exchange(code)).status).toBe(200);
    expect((await later.exchange(code)).status).toBe(400);
    expect((await later.refresh(kept.refreshToken)).body.access_token).toBe(kept.accessToken);
    const renewal = { grant_type: 'refresh_token', refresh_token: whoop.refreshToken };
    const client = { client_id: 'pacekeeper', client_secret: 'whoop-client-secret' };
    const renew = () => later.form('/whoop/oauth/oauth2/token', { ...client, ...renewal });
    expect([(await renew()).status, (await renew()).status]).toEqual([200, 400]);
  });

  it.each(['oura', 'whoop'] as const)(
    'a restarted simulator answers the same nights of %s',
    async (vendor) => {
      const list = {
        oura: '/oura/v2/usercollection/sleep?start_date=2026-10-01&end_date=2026-11-30',
        whoop: '/whoop/v2/activity/sleep?limit=25',
      }[vendor];
      const daily = '/oura/v2/usercollection/daily_sleep?start_date=2026-10-01&end_date=2026-11-30';
      await connect(sim, vendor, { nights: 9 });
      const { id, accessToken } = await connect(sim, vendor, { nights: 20 });
      const past = ((await sim.get(list, accessToken)).body as Record<string, { id: string }[]>)[
        vendor === 'oura' ? 'data' : 'records'
      ]!;
      const ordered = await sim.sim('/sleep', { athlete_id: id, duration_minutes: 401 });
      await sim.sim('/sleep', { athlete_id: id, nap: true, sparse: true });
      await sim.json('PATCH', `/__sim/sleep/${past[3]!.id}`, { duration_minutes: 300 });
      await sim.call('DELETE', `/__sim/sleep/${past[4]!.id}`);
      await sim.json('PATCH', `/__sim/sleep/${ordered.id}`, { score: 66 });

      const later = await restarted();
      expect((await later.get(list, accessToken)).text).toBe((await sim.get(list, accessToken)).text);
      if (vendor === 'oura')
        expect((await later.get(daily, accessToken)).text).toBe((await sim.get(daily, accessToken)).text);
      const next = { athlete_id: id, date: '2026-11-20' };
      expect(await later.sim('/sleep', next)).toEqual(await sim.sim('/sleep', next));
    },
  );

  it('a restarted simulator scores a pending night when it is due', async () => {
    const { id } = await connect(sim, 'whoop');
    const night = await sim.sim('/sleep', { athlete_id: id, score_after_seconds: 30, score: 77 });
    const later = await restarted();
    later.time.advance(30_000);
    expect((await later.json('PATCH', `/__sim/sleep/${night.id}`, {})).body.document).toMatchObject({
      score_state: 'SCORED',
      score: { sleep_performance_percentage: 77 },
    });
  });

  it('a restarted simulator retries an event with the same bytes, at the time that was planned before the restart', async () => {
    const receiver = await Receiver.open();
    const { id } = await sim.connect();
    await sim.subscribe(receiver);
    receiver.answer = () => 500;
    await sim.sim('/activities', { athlete_id: id });
    await receiver.waitForEvents(1);
    await until(() => sim.core.outbox.inFlight === 0);

    const later = await restarted();
    sim.core.outbox.reset();
    later.time.advance(120_000 - INTERVAL_MS - 1);
    expect(receiver.events).toHaveLength(1);
    later.time.advance(1);
    await receiver.waitForEvents(2);
    await until(() => later.core.outbox.inFlight === 0);
    later.time.advance(120_000);
    const [first, second, third] = await receiver.waitForEvents(3);
    expect([second!.text, third!.text]).toEqual([first!.text, first!.text]);
    await until(() => later.core.judge.stats().strava.webhooks.failed === 1);
    expect(later.core.judge.stats().strava.webhooks).toMatchObject({ sent: 0, retried: 2 });
    await receiver.close();
  });

  it('a restarted simulator repeats an interrupted event and sends an event that the fault reorder held back', async () => {
    const receiver = await Receiver.open();
    const { id } = await sim.connect();
    await sim.subscribe(receiver);
    receiver.answer = () => undefined;
    const cut = await sim.sim('/activities', { athlete_id: id });
    await receiver.waitForEvents(1);
    await sim.sim('/faults', { vendor: 'strava', kind: 'reorder' });
    const held = await sim.sim('/activities', { athlete_id: id });
    sim.time.advance(INTERVAL_MS);
    sim.core.outbox.stop();

    receiver.answer = () => 200;
    const later = await successor();
    later.time.advance(0);
    const [, again] = await receiver.waitForEvents(2);
    expect(String(again!.body.object_id)).toBe(cut.id);
    later.time.advance(60_000 + INTERVAL_MS);
    const [, , released] = await receiver.waitForEvents(3);
    expect(String(released!.body.object_id)).toBe(held.id);
    await receiver.close();
  });

  it('a restarted simulator cancels an Oura subscription whose retried event is answered with 410', async () => {
    const callback = await Callback.open(() => sim.time.nowMs());
    const { id } = await connect(sim, 'oura');
    const app = { 'x-client-id': CLIENT_ID, 'x-client-secret': SECRETS.oura };
    const subscriptions = (of: Harness, init: RequestInit = {}) =>
      of.call(init.body ? 'POST' : 'GET', '/oura/v2/webhook/subscription', {
        ...init,
        headers: { ...app, ...(init.body && { 'content-type': 'application/json' }) },
      });
    const terms = { callback_url: callback.url, verification_token: 'vt', event_type: 'create' };
    await subscriptions(sim, { body: JSON.stringify({ ...terms, data_type: 'sleep' }) });
    callback.respond = () => ({ status: 500 });
    await sim.sim('/sleep', { athlete_id: id });
    await callback.waitForEvents(1);
    await until(() => sim.core.outbox.inFlight === 0);

    const later = await restarted();
    sim.core.outbox.reset();
    callback.respond = () => ({ status: 410 });
    later.time.advance(10_000);
    await callback.waitForEvents(2);
    await until(() => later.core.outbox.inFlight === 0);
    expect((await subscriptions(later)).body).toEqual([]);
    await callback.close();
  });

  it('a restarted simulator keeps the habits of Oura and WHOOP', async () => {
    await sim.json('PUT', '/oura/__sim/habits', { timestamp_unit: 's' });
    await sim.json('PUT', '/whoop/__sim/habits', { access_token_seconds: 60 });
    const later = await restarted();
    expect((await later.get('/oura/__sim/habits')).body.timestamp_unit).toBe('s');
    expect((await later.get('/whoop/__sim/habits')).body.access_token_seconds).toBe(60);
  });

  it('a simulator restores a snapshot with missing parts, and uses the defaults for these parts', async () => {
    const { id } = await sim.connect();
    const snapshot = { ...(sim.core.memory.snapshot() as Record<string, unknown>) };
    for (const part of ['outbox', 'oura habits', 'whoop habits']) delete snapshot[part];
    const later = await successor();
    later.core.restore(snapshot);
    expect(later.core.world.athlete('strava', id)).toBeDefined();
    expect(later.core.memory.snapshot().outbox).toEqual([]);
  });

  it('a restarted simulator keeps changed limits and drops faults and counts', async () => {
    await sim.sim('/limits', { vendor: 'strava', read_day: 7 });
    await sim.sim('/faults', { vendor: 'strava', kind: 'http_500' });
    await sim.connect();
    const later = await restarted();
    const { body } = await later.get('/__sim/overview');
    expect(body.buckets.strava[1]).toMatchObject({ name: 'read_day', limit: 7, used: 0 });
    expect(body.faults).toEqual([]);
    expect(body.stats.strava.total).toBe(0);
  });

  it('a restarted simulator saves the same snapshot again', async () => {
    await sim.connect({ activities: 5 });
    await connect(sim, 'oura', { nights: 5 });
    await connect(sim, 'whoop', { nights: 5 });
    const later = await restarted();
    expect(JSON.stringify(later.core.memory.snapshot())).toBe(JSON.stringify(sim.core.memory.snapshot()));
  });
});

describe('StateFile', () => {
  /** The core of a simulator with its state file, without routes. */
  function open(file = stateFile): Core {
    const core = new Core({ time });
    new StateFile(file, core).open();
    return core;
  }
  let time: ManualTime;
  beforeEach(() => {
    time = new ManualTime();
  });

  it('StateFile writes once for many changes, and does not write without a change', () => {
    const core = open();
    const before = readFileSync(stateFile, 'utf8');
    core.world.addAthlete('strava');
    core.world.addAthlete('oura');
    expect(readFileSync(stateFile, 'utf8')).toBe(before);
    time.advance(INTERVAL_MS);
    expect(readFileSync(stateFile, 'utf8')).not.toBe(before);
    expect(open().world.athletesOf('oura')).toHaveLength(1);
    rmSync(stateFile);
    time.advance(INTERVAL_MS);
    expect(readdirSync(folder)).toEqual([]);
  });

  it.each([
    ['empty', '', /is no state file of this simulator/],
    ['something else', '{"hello": "world"}', /is no state file of this simulator/],
    ['binary', '\0\x01\x02', /is no state file of this simulator/],
    [
      'of another version',
      '{"format":"pacekeeper simulator state","version":99}\n{}',
      /is of version 99, this simulator reads \d+/,
    ],
  ])('StateFile refuses a file that is %s, and does not change the file', (_name, content, reason) => {
    writeFileSync(stateFile, content);
    expect(() => open()).toThrow(reason);
    expect(readFileSync(stateFile, 'utf8')).toBe(content);
  });

  it.each([
    ['cut', (text: string) => text.slice(0, -30)],
    ['altered', (text: string) => text.replace('"nextSeed":1', '"nextSeed":3')],
  ])('StateFile reports a file that was %s as damaged', (_name, spoil) => {
    open();
    writeFileSync(stateFile, spoil(readFileSync(stateFile, 'utf8')));
    expect(() => open()).toThrow(/is damaged/);
  });

  it('StateFile refuses a file that cannot be written', () => {
    writeFileSync(stateFile, '');
    expect(() => open(path.join(stateFile, 'below-a-file'))).toThrow(/SIMULATOR_STATE .* cannot be/);
  });
});
