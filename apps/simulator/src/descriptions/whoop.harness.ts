// Bodies of answers are untyped in tests.
/* eslint-disable @typescript-eslint/no-unsafe-assignment, @typescript-eslint/no-unsafe-member-access */

import { connect } from '../wearables/wearable.harness.js';
import { UNKNOWN_ID, type Vendor } from './checks.harness.js';

export const WHOOP: Vendor = {
  name: 'whoop',
  base: '/whoop',
  notOffered: [
    [/activity\/workout/, 'workouts (`/v2/activity/workout`) and their events'],
    [/activity-mapping/, '`/v1/activity-mapping`'],
  ],
  wrong: [],
  neverGiven: [[/^Sleep\.v1_id$/, 'ids of the first version are not imitated']],

  async exercise(checks) {
    const { sim } = checks;
    const { id: athlete, accessToken: token } = await connect(sim, 'whoop', { nights: 20 });
    await sim.sim('/sleep', { athlete_id: athlete, nap: true });
    await sim.sim('/sleep', { athlete_id: athlete, sparse: true, date: '2026-11-17' });
    const pending = await sim.sim('/sleep', { athlete_id: athlete, state: 'PENDING_SCORE' });
    const { body: latest } = await sim.get(`/whoop/v2/activity/sleep/${pending.id}`, token);
    const { body: older } = await sim.get('/whoop/v2/activity/sleep?limit=1&end=2026-11-10T00:00:00Z', token);
    const [night] = older.records as [{ id: string; cycle_id: number }];

    for (const list of ['/v2/cycle', '/v2/activity/sleep', '/v2/recovery']) {
      await checks.call(`GET ${list}`, 200, `${list}?limit=5`, { token });
      await checks.call(`GET ${list}`, 200, `${list}?limit=25`, { token });
      await checks.call(`GET ${list}`, 400, `${list}?limit=26`, { token });
      await checks.call(`GET ${list}`, 401, list);
    }
    const sleep = 'GET /v2/activity/sleep/{sleepId}';
    for (const id of [pending.id as string, night.id])
      await checks.call(sleep, 200, `/v2/activity/sleep/${id}`, { token });
    await checks.call(sleep, 404, `/v2/activity/sleep/${UNKNOWN_ID}`, { token });
    await checks.call(sleep, 400, '/v2/activity/sleep/1', { token });
    for (const below of ['', '/sleep', '/recovery']) {
      const operation = `GET /v2/cycle/{cycleId}${below}`;
      for (const id of [latest.cycle_id as number, night.cycle_id])
        await checks.call(operation, 200, `/v2/cycle/${id}${below}`, { token });
      await checks.call(operation, 404, `/v2/cycle/1${below}`, { token });
      await checks.call(operation, 401, `/v2/cycle/${night.cycle_id}${below}`);
    }
    for (const route of ['/v2/user/profile/basic', '/v2/user/measurement/body']) {
      await checks.call(`GET ${route}`, 200, route, { token });
      await checks.call(`GET ${route}`, 401, route);
      for (const status of [429, 500]) {
        await sim.sim('/faults', { vendor: 'whoop', kind: `http_${status}`, count: 1 });
        await checks.call(`GET ${route}`, status, route, { token });
      }
    }
    await checks.call('DELETE /v2/user/access', 204, '/v2/user/access', { token });
    await checks.call('DELETE /v2/user/access', 401, '/v2/user/access', { token });
  },
};
