import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { Harness } from '../simulator.harness.js';
import {
  askToken,
  CLIENT_ID,
  connect,
  consentedAthlete,
  openSimulator,
  SECRETS,
} from './wearable.harness.js';

const RETURN = 'http://127.0.0.1:9/oauth/callback';
const VENDORS = [
  {
    vendor: 'oura',
    authorize: '/oura/oauth/authorize',
    scope: 'daily personal',
    lifeSeconds: 86_400,
    profile: '/oura/v2/usercollection/personal_info',
  },
  {
    vendor: 'whoop',
    authorize: '/whoop/oauth/oauth2/auth',
    scope: 'offline read:sleep',
    lifeSeconds: 3600,
    profile: '/whoop/v2/user/profile/basic',
  },
] as const;

const ALL_SCOPES = {
  oura: 'email personal daily heartrate workout tag session spo2',
  whoop: 'offline read:sleep read:recovery read:cycles read:workout read:profile read:body_measurement',
} as const;

function basic(id: string, secret: string) {
  return { authorization: `Basic ${Buffer.from(`${id}:${secret}`).toString('base64')}` };
}

let sim: Harness;

beforeEach(async () => {
  sim = await openSimulator();
});
afterEach(() => sim.close());

describe.each(VENDORS)('$vendor authorisation', ({ vendor, authorize, scope, lifeSeconds, profile }) => {
  function query(changes: Record<string, string> = {}) {
    const fields = {
      client_id: CLIENT_ID,
      redirect_uri: RETURN,
      response_type: 'code',
      scope,
      state: 's-12345678',
    };
    return new URLSearchParams({ ...fields, ...changes }).toString();
  }

  async function redirected(changes: Record<string, string>) {
    const { status, headers } = await sim.get(`${authorize}?${query(changes)}`);
    expect(status).toBe(302);
    const location = new URL(headers.get('location')!);
    expect(location.href.startsWith(RETURN)).toBe(true);
    return Object.fromEntries(location.searchParams);
  }

  it('the consent page lets a person choose an athlete and untick scopes', async () => {
    const { id } = await consentedAthlete(sim, vendor);
    const { status, headers, text } = await sim.get(`${authorize}?${query()}`);
    expect(status).toBe(200);
    expect(headers.get('content-type')).toContain('text/html');
    expect(text).toContain(`value="${id}"`);
    const [, kept = ''] = scope.split(' ');
    const form = {
      ...Object.fromEntries(new URLSearchParams(query())),
      athlete_id: id,
      scope_granted: kept,
      decision: 'allow',
    };
    const answer = await sim.form(authorize, form);
    expect(answer.status).toBe(302);
    expect(new URL(answer.headers.get('location')!).searchParams.get('scope')).toBe(kept);
  });

  it('a denied consent redirects with access_denied and the state', async () => {
    const { headers } = await sim.form(authorize, {
      ...Object.fromEntries(new URLSearchParams(query())),
      decision: 'deny',
    });
    const answer = new URL(headers.get('location')!).searchParams;
    expect(answer.get('error')).toBe('access_denied');
    expect(answer.get('state')).toBe('s-12345678');
  });

  it('a consent with athlete_id new makes an athlete whose code can be exchanged', async () => {
    const { code } = await redirected({ athlete_id: 'new' });
    expect((await askToken(sim, vendor, { grant_type: 'authorization_code', code: code! })).status).toBe(200);
  });

  it('the authorize route with athlete_id consents for that athlete at once', async () => {
    const { id } = await consentedAthlete(sim, vendor);
    const answer = await redirected({ athlete_id: id });
    expect(answer).toEqual({ code: expect.any(String), scope, state: 's-12345678' });
    const { body } = await askToken(sim, vendor, { grant_type: 'authorization_code', code: answer.code! });
    expect(body).toMatchObject({ access_token: expect.any(String), scope, expires_in: lifeSeconds });
  });

  it('the authorize route answers 400 to an unknown client, redirect or athlete, and reports other errors in the redirect', async () => {
    expect((await sim.get(`${authorize}?${query({ client_id: 'stranger' })}`)).status).toBe(400);
    expect((await sim.get(`${authorize}?${query({ redirect_uri: 'javascript:alert(1)' })}`)).status).toBe(
      400,
    );
    expect((await sim.get(`${authorize}?${query({ athlete_id: 'nobody' })}`)).status).toBe(400);
    expect((await redirected({ scope: 'read:everything' })).error).toBe('invalid_scope');
    expect((await redirected({ response_type: 'token' })).error).toBe('unsupported_response_type');
  });

  it('the consent page shows a hostile state parameter as text', async () => {
    const hostile = `${authorize}?${query({ state: '"><script>alert(1)</script>' })}`;
    expect((await sim.get(hostile)).text).not.toContain('<script>');
  });

  it('the token endpoint answers invalid_grant to the second use of a code', async () => {
    const { code } = await consentedAthlete(sim, vendor);
    const exchange = () => askToken(sim, vendor, { grant_type: 'authorization_code', code });
    expect((await exchange()).status).toBe(200);
    const { status, body } = await exchange();
    expect(status).toBe(400);
    expect(body.error).toBe('invalid_grant');
  });

  it('the token endpoint accepts credentials in the body or as HTTP Basic, and answers 401 to wrong credentials', async () => {
    const { code } = await consentedAthlete(sim, vendor);
    const { status, body } = await askToken(sim, vendor, {
      grant_type: 'authorization_code',
      code,
      client_secret: 'wrong',
    });
    expect(status).toBe(401);
    expect(body.error).toBe('invalid_client');
    const tokenPath = authorize.replace('authorize', 'token').replace('auth2/auth', 'auth2/token');
    const exchange = (secret: string) =>
      sim.form(tokenPath, { grant_type: 'authorization_code', code }, basic(CLIENT_ID, secret));
    expect((await exchange('wrong')).status).toBe(401);
    expect((await exchange(SECRETS[vendor])).status).toBe(200);
  });

  it('the authorize route accepts all documented scopes', async () => {
    const { id } = await consentedAthlete(sim, vendor);
    expect((await redirected({ athlete_id: id, scope: ALL_SCOPES[vendor] })).scope).toBe(ALL_SCOPES[vendor]);
  });

  it('a refresh keeps the refresh token when the habit refresh_rotates is false', async () => {
    await sim.json('PUT', `/${vendor}/__sim/habits`, { refresh_rotates: false });
    const { refreshToken } = await connect(sim, vendor);
    const fields = { grant_type: 'refresh_token', refresh_token: refreshToken };
    expect((await askToken(sim, vendor, fields)).body.refresh_token).toBe(refreshToken);
    expect((await askToken(sim, vendor, fields)).status).toBe(200);
  });

  it('a refresh rotates the refresh token and revokes the old refresh token at once', async () => {
    const { refreshToken } = await connect(sim, vendor);
    const refresh = (refresh_token: string) =>
      askToken(sim, vendor, { grant_type: 'refresh_token', refresh_token });
    const { body } = await refresh(refreshToken);
    expect(body.refresh_token).not.toBe(refreshToken);
    const again = await refresh(refreshToken);
    expect(again.status).toBe(400);
    expect(again.body.error).toBe('invalid_grant');
    expect((await refresh(body.refresh_token)).status).toBe(200);
  });

  it('a refresh answers 400 after the athlete was deauthorized', async () => {
    const { id, refreshToken } = await connect(sim, vendor);
    await sim.sim('/deauthorize', { athlete_id: id });
    const { status } = await askToken(sim, vendor, {
      grant_type: 'refresh_token',
      refresh_token: refreshToken,
    });
    expect(status).toBe(400);
  });

  it('the fault athlete_limit denies consent to athletes that are not connected yet', async () => {
    const { id } = await connect(sim, vendor);
    await sim.sim('/faults', { vendor, kind: 'athlete_limit' });
    expect((await redirected({ athlete_id: id })).code).toEqual(expect.any(String));
    expect((await redirected({ athlete_id: 'new' })).error).toBe('access_denied');
    await sim.call('DELETE', '/__sim/faults');
    expect((await redirected({ athlete_id: 'new' })).code).toEqual(expect.any(String));
  });

  it('an access token is valid for a day at Oura and for an hour at WHOOP', async () => {
    const { accessToken } = await connect(sim, vendor);
    const read = async () => (await sim.get(profile, accessToken)).status;
    sim.time.advance(lifeSeconds * 1000 - 1);
    expect(await read()).toBe(200);
    sim.time.advance(1);
    expect(await read()).toBe(401);
  });

  it('TIME_SCALE divides the lifetime of an access token', async () => {
    await sim.close();
    sim = await openSimulator(60);
    const { code } = await consentedAthlete(sim, vendor);
    const { body } = await askToken(sim, vendor, { grant_type: 'authorization_code', code });
    expect(body.expires_in).toBe(lifeSeconds / 60);
  });

  it('the token endpoint answers unsupported_grant_type and invalid_request to wrong fields', async () => {
    expect((await askToken(sim, vendor, { grant_type: 'password' })).body.error).toBe(
      'unsupported_grant_type',
    );
    expect((await askToken(sim, vendor, {})).body.error).toBe('invalid_request');
    expect((await askToken(sim, vendor, { grant_type: 'refresh_token' })).body.error).toBe('invalid_request');
  });
});

describe('WHOOP authorisation', () => {
  it('WHOOP answers a new token pair with all granted scopes to a refresh with scope=offline', async () => {
    const { refreshToken } = await connect(sim, 'whoop', { scopes: ['offline', 'read:sleep'] });
    const { status, body } = await askToken(sim, 'whoop', {
      grant_type: 'refresh_token',
      refresh_token: refreshToken,
      scope: 'offline',
    });
    expect(status).toBe(200);
    expect(body).toEqual({
      access_token: expect.any(String),
      refresh_token: expect.any(String),
      expires_in: 3600,
      token_type: 'bearer',
      scope: 'offline read:sleep',
    });
  });

  it('a WHOOP access token is valid as long as the habit access_token_seconds says', async () => {
    await sim.json('PUT', '/whoop/__sim/habits', { access_token_seconds: 60 });
    const { accessToken } = await connect(sim, 'whoop');
    const profile = () => sim.get('/whoop/v2/user/profile/basic', accessToken);
    expect((await profile()).status).toBe(200);
    sim.time.advance(60_000);
    expect((await profile()).status).toBe(401);
  });

  it('WHOOP answers no refresh token without the offline scope', async () => {
    const { code } = await consentedAthlete(sim, 'whoop', { scopes: ['read:sleep'] });
    const { body } = await askToken(sim, 'whoop', { grant_type: 'authorization_code', code });
    expect(body).toMatchObject({ token_type: 'bearer', scope: 'read:sleep' });
    expect(body).not.toHaveProperty('refresh_token');
  });
});

describe('Oura authorisation', () => {
  it('Oura denies consent beyond the capacity of ten users', async () => {
    await sim.close();
    const oura = { clientId: CLIENT_ID, clientSecret: SECRETS.oura, athleteCapacity: 10 };
    sim = await Harness.open({ apps: { oura } });
    for (let i = 0; i < 10; i++) await connect(sim, 'oura');
    const fields = { client_id: CLIENT_ID, redirect_uri: RETURN, response_type: 'code', athlete_id: 'new' };
    const { headers } = await sim.get(`/oura/oauth/authorize?${new URLSearchParams(fields).toString()}`);
    expect(new URL(headers.get('location')!).searchParams.get('error')).toBe('access_denied');
  });

  it('a token error of Oura has the fields of RFC 6749 in addition to status and title', async () => {
    const { body } = await askToken(sim, 'oura', { grant_type: 'refresh_token', refresh_token: 'unknown' });
    expect(body).toMatchObject({ status: 400, title: 'Bad Request', error: 'invalid_grant' });
  });

  it('revoking a token at Oura ends the grant', async () => {
    const { accessToken } = await connect(sim, 'oura');
    const path = '/oura/v2/usercollection/personal_info';
    expect((await sim.get(path, accessToken)).status).toBe(200);
    expect((await sim.call('POST', `/oura/oauth/revoke?access_token=${accessToken}`)).status).toBe(200);
    expect((await sim.get(path, accessToken)).status).toBe(401);
  });
});
