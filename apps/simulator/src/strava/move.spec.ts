import { afterEach, beforeEach, expect, it } from '@jest/globals';
import { type Connected, Harness } from '../simulator.harness.js';

let sim: Harness;
let athlete: Connected;
beforeEach(async () => {
  sim = await Harness.open();
  athlete = await sim.connect();
});
afterEach(() => sim.close());

const habits = (change: object) => sim.json('PUT', '/strava/__sim/habits', change);
const statusAt = async (base: string) => (await sim.get(`${base}/athlete`, athlete.accessToken)).status;

it('Strava’s API answers at the old host, then at both, then at the new one alone, and OAuth stays where it is', async () => {
  expect(await statusAt('/api/v3')).toBe(200);
  await expect(statusAt('/api-v3')).rejects.toThrow('fetch failed');
  await habits({ api_host: 'both' });
  expect([await statusAt('/api/v3'), await statusAt('/api-v3')]).toEqual([200, 200]);
  await habits({ api_host: 'new' });
  await expect(statusAt('/api/v3')).rejects.toThrow('fetch failed');
  expect(await statusAt('/api-v3')).toBe(200);
  expect((await sim.refresh(athlete.refreshToken)).status).toBe(200);
  expect((await sim.stats()).strava.by_endpoint.athlete).toBe(4);
});

it('both hosts of Strava’s API charge the same limits', async () => {
  await habits({ api_host: 'both' });
  const usageAt = async (base: string) =>
    (await sim.get(`${base}/athlete`, athlete.accessToken)).headers.get('x-readratelimit-usage');
  expect([await usageAt('/api/v3'), await usageAt('/api-v3')]).toEqual(['1,1', '2,2']);
});

it('Strava accepts a token in the query until the habit tokens_in is header', async () => {
  const withQuery = () => sim.get(`/api/v3/athlete?access_token=${athlete.accessToken}`);
  expect((await withQuery()).status).toBe(200);
  await habits({ tokens_in: 'header' });
  expect((await withQuery()).status).toBe(401);
  expect(await statusAt('/api/v3')).toBe(200);
});

it('POST /oauth/deauthorize is 404 once the habit deauthorize is false, and /oauth/revoke still ends the grant', async () => {
  await habits({ deauthorize: false });
  const bearer = { authorization: `Bearer ${athlete.accessToken}` };
  expect((await sim.form('/oauth/deauthorize', {}, bearer)).status).toBe(404);
  expect(await statusAt('/api/v3')).toBe(200);
  const basic = { authorization: `Basic ${Buffer.from('4711:secret').toString('base64')}` };
  expect((await sim.form('/oauth/revoke', { token: athlete.refreshToken }, basic)).status).toBe(200);
  expect(await statusAt('/api/v3')).toBe(401);
});

it('PUT /strava/__sim/habits names a field or value that it does not know', async () => {
  expect((await habits({ api_host: 'none' })).body.details).toEqual([expect.stringContaining('api_host')]);
  expect((await habits({ hosts: 'new' })).body.details).toEqual([expect.stringContaining('hosts')]);
});
