import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { type Harness } from '../simulator.harness.js';
import { CLIENT_ID, openSimulator, SECRETS } from '../wearables/wearable.harness.js';
import {
  askToken,
  authorized,
  basic,
  BASIC,
  connect,
  consented,
  register,
  setHabits,
} from './polar.harness.js';

const RETURN = 'http://127.0.0.1:9/oauth/callback';
const OTHER = 'http://127.0.0.1:9/other';

let sim: Harness;

beforeEach(async () => {
  sim = await openSimulator();
});
afterEach(() => sim.close());

function authorize(fields: Record<string, string> = {}) {
  const query = new URLSearchParams({ client_id: CLIENT_ID, response_type: 'code', state: 's1', ...fields });
  return sim.get(`/polar/oauth2/authorization?${query.toString()}`);
}

async function redirected(fields: Record<string, string>): Promise<URL> {
  const { status, headers } = await authorize(fields);
  expect(status).toBe(302);
  return new URL(headers.get('location')!);
}

const exercises = (token: string) => sim.get('/polar/v3/exercises', token);

describe('Polar authorize page', () => {
  it('the authorize page of Polar asks a person and names the app and the one scope', async () => {
    await consented(sim);
    const { status, text } = await authorize({ redirect_uri: RETURN });
    expect(status).toBe(200);
    expect(text).toContain('Pacekeeper');
    expect(text).toContain('accesslink.read_all');
  });

  it('the authorize page of Polar with athlete_id redirects at once with code and state and repeats no scope', async () => {
    const { id } = await consented(sim);
    const url = await redirected({ redirect_uri: RETURN, athlete_id: id });
    expect(url.origin + url.pathname).toBe(RETURN);
    expect([...url.searchParams.keys()].sort()).toEqual(['code', 'state']);
    const { body } = await askToken(sim, url.searchParams.get('code')!, { redirect_uri: RETURN });
    expect(body.x_user_id).toBe(Number(id));
  });

  it('Polar uses the default redirect URL when none is asked for', async () => {
    await setHabits(sim, { redirect_urls: [RETURN, OTHER] });
    const { id } = await consented(sim);
    const url = await redirected({ athlete_id: id });
    expect(url.origin + url.pathname).toBe(RETURN);
    expect((await askToken(sim, url.searchParams.get('code')!)).status).toBe(200);
  });

  it('Polar returns errors to the default redirect URL', async () => {
    await setHabits(sim, { redirect_urls: [RETURN, OTHER] });
    for (const [fields, error] of [
      [{ scope: 'read_some' }, 'invalid_scope'],
      [{ response_type: 'token' }, 'unsupported_response_type'],
      [{ decision: 'deny' }, 'access_denied'],
    ] as const) {
      const url = await redirected({ redirect_uri: OTHER, ...fields });
      expect(url.origin + url.pathname).toBe(RETURN);
      expect(url.searchParams.get('error')).toBe(error);
      expect(url.searchParams.get('state')).toBe('s1');
    }
  });

  it('Polar shows a page instead of a redirect for a redirect URL that is not registered', async () => {
    await setHabits(sim, { redirect_urls: [RETURN] });
    const { id } = await consented(sim);
    const { status, headers } = await authorize({ redirect_uri: OTHER, athlete_id: id });
    expect(status).toBe(400);
    expect(headers.has('location')).toBe(false);
  });
});

describe('Polar token endpoint', () => {
  it('the token of Polar has x_user_id as a number, lives a year and has neither refresh token nor scope', async () => {
    const { id, code } = await consented(sim);
    const { status, body } = await askToken(sim, code);
    expect(status).toBe(200);
    expect(body).toEqual({
      access_token: expect.any(String),
      token_type: 'bearer',
      expires_in: 31_535_999,
      x_user_id: Number(id),
    });
  });

  it('the token endpoint of Polar takes credentials as HTTP Basic only', async () => {
    const { code } = await consented(sim);
    const inBody = { client_id: CLIENT_ID, client_secret: SECRETS.polar };
    for (const headers of [{}, basic(CLIENT_ID, 'wrong'), basic('stranger', SECRETS.polar)]) {
      const { status, body } = await askToken(sim, code, inBody, headers);
      expect([status, body]).toEqual([400, { error: 'invalid_client' }]);
    }
    expect((await askToken(sim, code)).status).toBe(200);
  });

  it('the token endpoint of Polar answers wrong credentials with 401 when that habit is set', async () => {
    const { code } = await consented(sim);
    await setHabits(sim, { invalid_client_status: 401 });
    expect((await askToken(sim, code, {}, {})).status).toBe(401);
  });

  it('the token endpoint of Polar answers 400 with an error for a missing or unknown grant type and an unknown code', async () => {
    const post = (fields: Record<string, string>) => sim.form('/polar/v2/oauth2/token', fields, BASIC);
    expect((await post({ code: 'x' })).body).toEqual({ error: 'invalid_request' });
    expect((await post({ grant_type: 'authorization_code' })).body).toEqual({ error: 'invalid_request' });
    const refresh = await post({ grant_type: 'refresh_token', code: 'x' });
    expect([refresh.status, refresh.body]).toEqual([400, { error: 'unsupported_grant_type' }]);
    const unknown = await askToken(sim, 'unknown');
    expect([unknown.status, unknown.body]).toEqual([400, { error: 'invalid_grant' }]);
  });

  it('Polar refuses a code after ten minutes and a code with another redirect URL', async () => {
    const { id, code } = await consented(sim);
    sim.time.advance(601_000);
    expect((await askToken(sim, code)).body).toEqual({ error: 'invalid_grant' });
    const fresh = (await redirected({ redirect_uri: RETURN, athlete_id: id })).searchParams.get('code')!;
    expect((await askToken(sim, fresh, { redirect_uri: OTHER })).status).toBe(400);
    expect((await askToken(sim, fresh)).status).toBe(400);
    expect((await askToken(sim, fresh, { redirect_uri: RETURN })).status).toBe(200);
  });

  it('a second use of a code at Polar deletes the token issued from it', async () => {
    const { code, token } = await connect(sim);
    expect((await exercises(token)).status).toBe(200);
    expect((await askToken(sim, code)).body).toEqual({ error: 'invalid_grant' });
    expect((await exercises(token)).status).toBe(401);
  });

  it.each([
    ['its_tokens', 200],
    ['all_tokens', 401],
  ])(
    'with the habit reused_code_deletes %s a Polar token of another code answers %i',
    async (habit, status) => {
      await setHabits(sim, { reused_code_deletes: habit });
      const first = await connect(sim);
      const url = await redirected({ redirect_uri: RETURN, athlete_id: first.id });
      const second = await askToken(sim, url.searchParams.get('code')!, { redirect_uri: RETURN });
      await askToken(sim, first.code);
      expect((await exercises(second.body.access_token as string)).status).toBe(status);
    },
  );

  it.each([
    [false, 200],
    [true, 401],
  ])(
    'with the habit new_token_revokes_old %s the older Polar token of a user answers %i',
    async (habit, status) => {
      await setHabits(sim, { new_token_revokes_old: habit });
      const first = await connect(sim);
      const url = await redirected({ redirect_uri: RETURN, athlete_id: first.id });
      const second = await askToken(sim, url.searchParams.get('code')!, { redirect_uri: RETURN });
      expect((await exercises(second.body.access_token as string)).status).toBe(200);
      expect((await exercises(first.token)).status).toBe(status);
    },
  );

  it('a token of Polar answers 401 after its year, which TIME_SCALE divides', async () => {
    const { token } = await connect(sim);
    sim.time.advance(31_535_998_000);
    expect((await exercises(token)).status).toBe(200);
    sim.time.advance(2_000);
    expect((await exercises(token)).status).toBe(401);
    const fast = await openSimulator(900);
    const { code } = await consented(fast);
    expect((await askToken(fast, code)).body.expires_in).toBe(Math.floor(31_535_999 / 900));
    await fast.close();
  });

  it('the fault athlete_limit of Polar refuses a person without a grant', async () => {
    const { id } = await consented(sim);
    await sim.sim('/faults', { vendor: 'polar', kind: 'athlete_limit' });
    const url = await redirected({ redirect_uri: RETURN, athlete_id: id });
    expect(url.searchParams.get('error')).toBe('access_denied');
  });

  it('the end of a grant at Polar sends no event, and the token answers 401, or 403 when that habit is set', async () => {
    const { id, token } = await connect(sim);
    await sim.sim('/deauthorize', { athlete_id: id, provider: 'polar' });
    expect((await exercises(token)).status).toBe(401);
    await setHabits(sim, { revoked_status: 403 });
    expect((await exercises(token)).status).toBe(403);
    expect((await sim.stats()).polar.webhooks.sent).toBe(0);
    const again = await authorized(sim, { athlete_id: '77' });
    expect((await register(sim, again.token)).status).toBe(200);
  });
});
