// Bodies of answers are untyped in tests.
/* eslint-disable @typescript-eslint/no-unsafe-assignment, @typescript-eslint/no-unsafe-member-access */

import { Callback, CLIENT_ID, connect, SECRETS } from '../wearables/wearable.harness.js';
import { type Checks, UNKNOWN_ID, type Vendor } from './checks.harness.js';

const DAYS = 'start_date=2026-08-01&end_date=2026-11-18';

export const OURA: Vendor = {
  name: 'oura',
  base: '/oura',
  notOffered: [
    [
      /usercollection\/(?!sleep$|sleep\/|daily_sleep|personal_info)/,
      'every collection but `sleep`, `daily_sleep` and `personal_info`',
    ],
  ],
  wrong: [
    [
      /subscription\/(renew\/)?{id} 404: the description has no status 404$/,
      'recordings of the real API show 404 for an unknown id, except to GET',
    ],
  ],
  neverGiven: [
    [/\.(sleep|readiness)_score_delta$/, 'null in every recording'],
    [/\.ring_id$/, 'null in every recording'],
  ],

  async exercise(checks) {
    const { sim } = checks;
    const { id: athlete, accessToken: token } = await connect(sim, 'oura', { nights: 70 });
    await sim.sim('/sleep', { athlete_id: athlete, nap: true, duration_minutes: 40 });
    await sim.sim('/sleep', { athlete_id: athlete, sparse: true, date: '2026-11-18' });
    const modest = await connect(sim, 'oura', { scopes: ['email'] });
    const info = '/v2/usercollection/personal_info';
    await checks.call(`GET ${info}`, 200, info, { token });
    await checks.call(`GET ${info}`, 401, info);
    for (const below of ['/v2/usercollection', '/v2/sandbox/usercollection'])
      for (const kind of ['sleep', 'daily_sleep']) {
        const list = `${below}/${kind}`;
        const { body } = await checks.call(`GET ${list}`, 200, `${list}?${DAYS}`, { token });
        const [{ id }] = body.data as [{ id: string }];
        await checks.call(`GET ${list}`, 200, `${list}?start_date=2026-11-01T00:00:00Z`, { token });
        await checks.call(`GET ${list}`, 422, `${list}?start_date=x`, { token });
        await checks.call(`GET ${list}`, 400, `${list}?next_token=x`, { token });
        const document = `${list}/{document_id}`;
        await checks.call(`GET ${document}`, 200, `${list}/${id}`, { token });
        await checks.call(`GET ${document}`, 404, `${list}/${UNKNOWN_ID}`, { token });
        if (below.includes('sandbox')) continue;
        await checks.call(`GET ${list}`, 401, list, { token: modest.accessToken });
        for (const [kind, status] of [
          ['http_429', 429],
          ['membership_expired', 403],
        ] as const) {
          await sim.sim('/faults', { vendor: 'oura', kind, count: 1 });
          await checks.call(`GET ${document}`, status, `${list}/${id}`, { token });
        }
      }
    await subscribe(checks);
  },
};

async function subscribe(checks: Checks): Promise<void> {
  const { sim } = checks;
  const callback = await Callback.open(() => sim.time.nowMs());
  const base = '/v2/webhook/subscription';
  const one = `${base}/{id}`;
  const headers = { 'x-client-id': CLIENT_ID, 'x-client-secret': SECRETS.oura };
  const terms = {
    callback_url: callback.url,
    verification_token: 'vt',
    event_type: 'update',
    data_type: 'sleep',
  };
  await checks.call(`POST ${base}`, 422, base, { headers, body: {} });
  const { body } = await checks.call(`POST ${base}`, 201, base, { headers, body: terms });
  const at = `${base}/${body.id}`;
  await checks.call(`GET ${base}`, 200, base, { headers });
  await checks.call(`GET ${one}`, 200, at, { headers });
  await checks.call(`GET ${one}`, 403, `${base}/${UNKNOWN_ID}`, { headers });
  await checks.call(`PUT ${one}`, 200, at, { headers, body: { verification_token: 'vt' } });
  await checks.call(`PUT ${one}`, 422, at, { headers, body: {} });
  await checks.call(`PUT ${base}/renew/{id}`, 200, `${base}/renew/${body.id}`, { headers });
  await checks.call(`DELETE ${one}`, 204, at, { headers });
  await checks.call(`DELETE ${one}`, 404, at, { headers });
  await callback.close();
}
