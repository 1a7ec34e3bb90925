// Bodies of answers are untyped in tests.
/* eslint-disable @typescript-eslint/no-unsafe-assignment, @typescript-eslint/no-unsafe-member-access */

import { authorized, BASIC, connect, setHabits, train } from '../polar/polar.harness.js';
import { Callback } from '../wearables/wearable.harness.js';
import { type Checks, type Vendor } from './checks.harness.js';

export const POLAR: Vendor = {
  name: 'polar',
  base: '/polar',
  notOffered: [
    [
      /transaction|notifications|physical-info|nightly-recharge|continuous-heart|cardio-load|sleepwise|biosensing|users\/activities/,
      'all but users, exercises, sleep and webhooks',
    ],
  ],
  wrong: [
    [
      /^GET \/v3\/users\/sleep\S* 401: the description has no status 401$/,
      'its webhooks name 401 for dead tokens',
    ],
    [/ 429: the description has no status 429$/, 'the limits are described in prose'],
    [/exercises\/{exerciseId}\/fit 204/, 'a session without a FIT file is not described'],
    [/\/detailed_sport_info must be string$/, 'null was seen for boxing and walking'],
    [/\/recording-rate must be integer$/, 'null for RR intervals, as the page says'],
    [/\/sample-type must match format "byte"$/, 'the examples of the description are digits, not base64'],
  ],
  neverGiven: [[/\.club_(id|name)$/, 'only Flow for Club fills them']],

  async exercise(checks) {
    const { sim } = checks;
    const { id, token } = await authorized(sim);
    const stranger = await authorized(sim);
    const json = { 'member-id': 'member-1' };
    await checks.call('POST /v3/users', 200, '/v3/users', { token, body: json });
    await checks.call('POST /v3/users', 409, '/v3/users', { token, body: json });
    const user = 'GET /v3/users/{user-id}';
    await checks.call(user, 200, `/v3/users/${id}`, { token });
    await checks.call(user, 204, `/v3/users/${stranger.id}`, { token: stranger.token });
    await checks.call(user, 403, `/v3/users/${id}`, { token: stranger.token });
    await readExercises(checks, id, token);
    await readSleep(checks, id, token);
    await manageWebhook(checks);
    const gone = await connect(sim);
    await checks.call('DELETE /v3/users/{user-id}', 204, `/v3/users/${gone.id}`, { token: gone.token });
    await sim.sim('/faults', { vendor: 'polar', kind: 'http_429', count: 1 });
    await checks.call('GET /v3/exercises', 429, '/v3/exercises', { token });
  },
};

async function readExercises(checks: Checks, athlete: string, token: string): Promise<void> {
  const { sim } = checks;
  const all = 'samples=true&zones=true&route=true';
  const made = [
    await train(sim, athlete, { duration_s: 2400, rr: true }),
    await train(sim, athlete, { sport_type: 'Ride', power_w: 200 }),
    await train(sim, athlete, { sport_type: 'Walk', detailed_sport_info: null }),
    await train(sim, athlete, { sport_type: 'Yoga' }),
    await train(sim, athlete, { sparse: true }),
  ];
  const [run] = made;
  const list = 'GET /v3/exercises';
  const one = 'GET /v3/exercises/{exerciseId}';
  await checks.call(list, 200, '/v3/exercises', { token });
  await checks.call(list, 200, `/v3/exercises?${all}`, { token });
  for (const { id } of made) await checks.call(one, 200, `/v3/exercises/${id}?${all}`, { token });
  await checks.call(one, 404, '/v3/exercises/2AC312F', { token });
  await sim.sim('/faults', { vendor: 'polar', kind: 'consents_missing', count: 2 });
  await checks.call(list, 403, '/v3/exercises', { token });
  await checks.call(one, 403, `/v3/exercises/${run!.id}`, { token });
  await checks.call(`${one}/fit`, 204, `/v3/exercises/${run!.id}/fit`, { token });
  await setHabits(sim, { no_fit_status: 404 });
  await checks.call(`${one}/fit`, 404, `/v3/exercises/${run!.id}/fit`, { token });
  for (const file of ['tcx', 'gpx']) {
    await checks.call(`${one}/${file}`, 200, `/v3/exercises/${run!.id}/${file}`, { token });
    await checks.call(`${one}/${file}`, 404, `/v3/exercises/2AC312F/${file}`, { token });
  }
}

async function readSleep(checks: Checks, athlete: string, token: string): Promise<void> {
  const { sim } = checks;
  const base = '/v3/users/sleep';
  await sim.sim('/sleep', { athlete_id: athlete, date: '2026-11-15' });
  await sim.sim('/sleep', { athlete_id: athlete, date: '2026-11-16', score: null });
  await sim.sim('/sleep', { athlete_id: athlete, date: '2026-11-17', sparse: true });
  await checks.call(`GET ${base}`, 200, base, { token });
  await checks.call(`GET ${base}`, 401, base);
  await checks.call(`GET ${base}/available`, 200, `${base}/available`, { token });
  for (const date of ['2026-11-15', '2026-11-16', '2026-11-17'])
    await checks.call(`GET ${base}/{date}`, 200, `${base}/${date}`, { token });
  await checks.call(`GET ${base}/{date}`, 404, `${base}/2026-11-10`, { token });
  await checks.call(`GET ${base}/{date}`, 400, `${base}/x`, { token });
}

async function manageWebhook(checks: Checks): Promise<void> {
  const callback = await Callback.open(() => checks.sim.time.nowMs());
  callback.respond = () => ({ status: 200 });
  const base = '/v3/webhooks';
  const one = `${base}/{webhook-id}`;
  const headers = BASIC;
  const terms = { events: ['EXERCISE', 'SLEEP'], url: callback.url };
  await checks.call(`POST ${base}`, 400, base, { headers, body: {} });
  await checks.call(`POST ${base}/activate`, 204, `${base}/activate`, { headers });
  const { body } = await checks.call(`POST ${base}`, 201, base, { headers, body: terms });
  await checks.call(`POST ${base}`, 409, base, { headers, body: terms });
  await checks.call(`GET ${base}`, 200, base, { headers });
  const at = `${base}/${body.data.id}`;
  await checks.call(`PATCH ${one}`, 200, at, { headers, body: { events: ['SLEEP'] } });
  await checks.call(`PATCH ${one}`, 400, at, { headers, body: { events: ['SWIM'] } });
  await checks.call(`PATCH ${one}`, 404, `${base}/x`, { headers, body: {} });
  await checks.call(`POST ${base}/deactivate`, 200, `${base}/deactivate`, { headers });
  await checks.call(`POST ${base}/activate`, 200, `${base}/activate`, { headers });
  await checks.call(`DELETE ${one}`, 204, at, { headers });
  await checks.call(`DELETE ${one}`, 404, at, { headers });
  await callback.close();
}
