import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { type Harness } from '../simulator.harness.js';
import { openSimulator } from '../wearables/wearable.harness.js';
import { authorized, connect, register, setHabits, train } from './polar.harness.js';

let sim: Harness;

beforeEach(async () => {
  sim = await openSimulator();
});
afterEach(() => sim.close());

const user = (id: string, token: string) => sim.get(`/polar/v3/users/${id}`, token);
const exercises = (token: string) => sim.get('/polar/v3/exercises', token);

function remove(id: string, token: string) {
  return sim.call('DELETE', `/polar/v3/users/${id}`, { headers: { authorization: `Bearer ${token}` } });
}

describe('Polar users', () => {
  it('POST /v3/users of Polar answers 200 with the user: id as a number, member-id, registration date and body', async () => {
    const { id, token } = await authorized(sim);
    const { status, body } = await register(sim, token, 'member-1');
    expect(status).toBe(200);
    expect(body).toMatchObject({
      'polar-user-id': Number(id),
      'member-id': 'member-1',
      'registration-date': '2026-11-18T14:00:00.000Z',
      'extra-info': [],
    });
    expect(['MALE', 'FEMALE']).toContain(body.gender);
    expect((await user(id, token)).body).toEqual(body);
  });

  it('POST /v3/users answers 409 to a second registration and to a member-id of another user', async () => {
    const one = await authorized(sim);
    const other = await authorized(sim);
    await register(sim, one.token, 'member-1');
    expect((await register(sim, one.token, 'member-2')).status).toBe(409);
    expect((await register(sim, other.token, 'member-1')).status).toBe(409);
    // Only GET tells the two kinds of 409 apart.
    expect((await user(one.id, one.token)).status).toBe(200);
    expect((await user(other.id, other.token)).status).toBe(204);
  });

  it('POST /v3/users answers 400 without a member-id or with one that is longer than the habit allows', async () => {
    const { token } = await authorized(sim);
    expect((await sim.json('POST', '/polar/v3/users', {}, token)).status).toBe(400);
    await setHabits(sim, { longest_member_id: 4 });
    expect((await register(sim, token, 'five5')).status).toBe(400);
    expect((await register(sim, token, 'four')).status).toBe(200);
  });

  it('nothing of Polar can be read before POST /v3/users: 403, or the status of the habit', async () => {
    const { token } = await authorized(sim);
    const paths = [
      '/exercises',
      '/exercises/abc',
      '/users/sleep',
      '/users/sleep/available',
      '/users/sleep/2026-11-18',
    ];
    for (const unregistered_status of [403, 401, 404]) {
      await setHabits(sim, { unregistered_status });
      for (const path of paths)
        expect((await sim.get(`/polar/v3${path}`, token)).status).toBe(unregistered_status);
    }
    await register(sim, token);
    expect((await exercises(token)).status).toBe(200);
  });

  it('GET /v3/users/{id} answers 403 to the token of another user and 401 without a token', async () => {
    const one = await connect(sim);
    const other = await connect(sim);
    expect((await user(one.id, other.token)).status).toBe(403);
    expect((await sim.get(`/polar/v3/users/${one.id}`)).status).toBe(401);
  });

  it('DELETE of a Polar user answers 204 and ends the token and the registration', async () => {
    const { id, token } = await connect(sim);
    expect((await remove(id, token)).status).toBe(204);
    expect((await exercises(token)).status).toBe(401);
    expect((await remove(id, token)).status).toBe(401);
  });

  it.each([404, 401])('DELETE of a Polar user that is not registered answers %i', async (status) => {
    await setHabits(sim, { unknown_user_delete_status: status });
    const { id, token } = await authorized(sim);
    expect((await remove(id, token)).status).toBe(status);
  });

  it('Polar answers 403 to every call of a user whose consents are missing, until they are given again', async () => {
    const { id, token } = await connect(sim);
    const other = await connect(sim);
    const consents = (state: string) => sim.json('PUT', `/polar/__sim/users/${id}`, { consents: state });
    await consents('missing');
    for (const path of ['/exercises', `/users/${id}`, '/users/sleep'])
      expect((await sim.get(`/polar/v3${path}`, token)).status).toBe(403);
    expect((await register(sim, token)).status).toBe(403);
    expect((await exercises(other.token)).status).toBe(200);
    await consents('given');
    expect((await exercises(token)).status).toBe(200);
    expect((await sim.json('PUT', '/polar/__sim/users/1', { consents: 'given' })).status).toBe(404);
  });

  it('the fault consents_missing makes Polar answer 403 to as many calls as ordered', async () => {
    const { token } = await connect(sim);
    await sim.sim('/faults', { vendor: 'polar', kind: 'consents_missing', endpoint: 'exercises', count: 1 });
    expect((await exercises(token)).status).toBe(403);
    expect((await exercises(token)).status).toBe(200);
  });

  it('a revocation at Polar ends the registration, so a new registration sees no older data', async () => {
    const { id } = await connect(sim, { athlete_id: '31' });
    await train(sim, id);
    await sim.sim('/deauthorize', { athlete_id: id });
    const again = await sim.get(
      `/polar/oauth2/authorization?client_id=pacekeeper&response_type=code&redirect_uri=http://127.0.0.1:9/&athlete_id=${id}`,
    );
    const code = new URL(again.headers.get('location')!).searchParams.get('code')!;
    const { body } = await sim.form(
      '/polar/v2/oauth2/token',
      { grant_type: 'authorization_code', code, redirect_uri: 'http://127.0.0.1:9/' },
      { authorization: `Basic ${Buffer.from('pacekeeper:polar-client-secret').toString('base64')}` },
    );
    const token = body.access_token as string;
    expect((await user(id, token)).status).toBe(204);
    sim.time.advance(1);
    await register(sim, token, 'again');
    expect((await exercises(token)).body).toEqual([]);
  });
});
