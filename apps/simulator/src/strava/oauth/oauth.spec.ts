import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { Harness } from '../../simulator.harness.js';

let sim: Harness;
beforeEach(async () => {
  sim = await Harness.open();
});
afterEach(() => sim.close());

const HOUR_MS = 3_600_000;
const AUTHORIZE =
  '/oauth/authorize?client_id=4711&response_type=code&approval_prompt=auto&state=s%201' +
  '&redirect_uri=http%3A%2F%2Fapp.test%2Fback%3Fa%3D1&scope=read,activity:read_all,activity:write';

async function code(athlete: Record<string, unknown> = {}): Promise<{ id: string; code: string }> {
  return (await sim.sim('/athletes', { provider: 'strava', activities: 2, ...athlete })) as {
    id: string;
    code: string;
  };
}

/** What `curl -F` sends. */
function multipart(fields: Record<string, string>): FormData {
  const form = new FormData();
  for (const [name, value] of Object.entries(fields)) form.set(name, value);
  return form;
}

function redirectOf(headers: Headers): URL {
  return new URL(headers.get('location') ?? '');
}

describe('the authorize page', () => {
  it('asks a person: every scope is a box to untick, every athlete a choice', async () => {
    const { id } = await code();
    const { status, headers, text } = await sim.get(AUTHORIZE);
    expect(status).toBe(200);
    expect(headers.get('content-type')).toContain('text/html');
    expect(text.match(/type="checkbox"/g)).toHaveLength(3);
    expect(text).toContain(`name="athlete_id" value="${id}"`);
    expect(text).toContain('name="athlete_id" value="new"');
  });

  it('consents at once with athlete_id and echoes state and scope in a 302', async () => {
    const { id } = await code();
    const { status, headers } = await sim.get(`${AUTHORIZE}&athlete_id=${id}`);
    expect(status).toBe(302);
    const back = redirectOf(headers);
    expect(back.origin + back.pathname).toBe('http://app.test/back');
    expect(back.searchParams.get('a')).toBe('1');
    expect(back.searchParams.get('state')).toBe('s 1');
    expect(back.searchParams.get('scope')).toBe('read,activity:read_all,activity:write');
    const token = await sim.exchange(back.searchParams.get('code') ?? '');
    expect(token.body.athlete.id).toBe(Number(id));
  });

  it('knows the seven scopes, and approval_prompt=force', async () => {
    const { id } = await code();
    const scopes =
      'read,read_all,profile:read_all,profile:write,activity:read,activity:read_all,activity:write';
    const asked = AUTHORIZE.replace(/scope=.*/, `scope=${scopes}`).replace('=auto', '=force');
    const { headers } = await sim.get(`${asked}&athlete_id=${id}`);
    expect(redirectOf(headers).searchParams.get('scope')).toBe(scopes);
  });

  it('returns only the scopes that were left ticked, and the token is worth no more', async () => {
    const { id } = await code();
    const { headers } = await sim.get(`${AUTHORIZE}&athlete_id=${id}&scope_granted=read`);
    expect(redirectOf(headers).searchParams.get('scope')).toBe('read');
    const { body } = await sim.exchange(redirectOf(headers).searchParams.get('code') ?? '');
    expect((await sim.get('/api/v3/athlete/activities', body.access_token)).status).toBe(401);
  });

  it('takes the form a browser posts, boxes unticked and a new athlete made', async () => {
    const { status, headers } = await sim.call('POST', '/oauth/authorize', {
      body: new URLSearchParams([
        ['client_id', '4711'],
        ['redirect_uri', 'http://app.test/back'],
        ['scope', 'read,activity:read,activity:read_all'],
        ['state', 'x'],
        ['scope_granted', 'read'],
        ['scope_granted', 'activity:read'],
        ['athlete_id', 'new'],
        ['decision', 'allow'],
      ]),
    });
    expect(status).toBe(302);
    expect(redirectOf(headers).searchParams.get('scope')).toBe('read,activity:read');
  });

  it('redirects with error=access_denied when the person declines', async () => {
    const { headers } = await sim.get(`${AUTHORIZE}&decision=deny`);
    expect(redirectOf(headers).searchParams.get('error')).toBe('access_denied');
    expect(redirectOf(headers).searchParams.get('state')).toBe('s 1');
  });

  it('shows hostile parameters as text', async () => {
    const { text } = await sim.get(AUTHORIZE.replace('s%201', '%22%3E%3Cscript%3E'));
    expect(text).not.toContain('<script>');
  });

  it.each([
    ['client_id', 'client_id=4711', 'client_id='],
    ['redirect_uri', '&redirect_uri=http%3A%2F%2F', '&redirect_uri='],
    ['scope', 'scope=read', 'scope=view_private'],
    ['response_type', 'response_type=code', 'response_type=token'],
    ['approval_prompt', 'approval_prompt=auto', 'approval_prompt=maybe'],
  ])('answers a wrong %s with 400 and a Fault naming it', async (field, right, wrong) => {
    const { status, body } = await sim.get(AUTHORIZE.replace(right, wrong));
    expect(status).toBe(400);
    expect(body).toMatchObject({ message: 'Bad Request', errors: [{ field, code: 'invalid' }] });
  });
});

describe('the token endpoint', () => {
  it.each(['form', 'query', 'json', 'multipart'])('takes credentials as %s', async (how) => {
    const fields = {
      client_id: '1',
      client_secret: 's',
      grant_type: 'authorization_code',
      ...(await code()),
    };
    const answer =
      how === 'form'
        ? await sim.form('/oauth/token', fields)
        : how === 'query'
          ? await sim.call('POST', `/api/v3/oauth/token?${String(new URLSearchParams(fields))}`)
          : how === 'multipart'
            ? await sim.call('POST', '/oauth/token', { body: multipart(fields) })
            : await sim.json('POST', '/oauth/token', fields);
    expect(answer.status).toBe(200);
    expect(answer.body).toMatchObject({
      token_type: 'Bearer',
      expires_in: 21600,
      athlete: { resource_state: 2 },
    });
  });

  it('answers token_type, expires_at, expires_in, both tokens and, to an exchange only, the athlete', async () => {
    const { body } = await sim.exchange((await code()).code);
    const fields = ['access_token', 'expires_at', 'expires_in', 'refresh_token', 'token_type'];
    expect(Object.keys(body).sort()).toEqual([...fields, 'athlete'].sort());
    expect(Object.keys((await sim.refresh(body.refresh_token)).body).sort()).toEqual(fields);
  });

  it('lets a code be used once only', async () => {
    const { code: once } = await code();
    expect((await sim.exchange(once)).status).toBe(200);
    const again = await sim.exchange(once);
    expect(again.status).toBe(400);
    expect(again.body.errors).toEqual([{ resource: 'AuthorizationCode', field: 'code', code: 'invalid' }]);
  });

  it('gives access tokens that live six hours, expires_at being real epoch seconds', async () => {
    const { body } = await sim.exchange((await code()).code);
    expect(body.expires_at).toBe(sim.time.nowMs() / 1000 + 21600);
    sim.time.advance(6 * HOUR_MS - 1);
    expect((await sim.get('/api/v3/athlete', body.access_token)).status).toBe(200);
    sim.time.advance(1);
    const late = await sim.get('/api/v3/athlete', body.access_token);
    expect(late.status).toBe(401);
    expect(late.body).toEqual({
      message: 'Authorization Error',
      errors: [{ resource: 'Athlete', field: 'access_token', code: 'invalid' }],
    });
  });

  it('returns the same tokens to an early refresh, while more than one hour is left', async () => {
    const { accessToken, refreshToken } = await sim.connect();
    sim.time.advance(5 * HOUR_MS - 1000);
    const { body } = await sim.refresh(refreshToken);
    expect(body).toMatchObject({ access_token: accessToken, refresh_token: refreshToken, expires_in: 3601 });
  });

  it('rotates the refresh token in the last hour: the old one dies, and the answer has no athlete', async () => {
    const { accessToken, refreshToken } = await sim.connect();
    sim.time.advance(5 * HOUR_MS);
    const { body } = await sim.refresh(refreshToken);
    expect(body.access_token).not.toBe(accessToken);
    expect(body.refresh_token).not.toBe(refreshToken);
    expect(body.athlete).toBeUndefined();
    const old = await sim.refresh(refreshToken);
    expect(old.status).toBe(400);
    expect(old.body.errors).toEqual([{ resource: 'RefreshToken', field: 'refresh_token', code: 'invalid' }]);
    expect((await sim.refresh(body.refresh_token)).status).toBe(200);
  });

  it('sends no rate headers', async () => {
    const { headers } = await sim.exchange((await code()).code);
    expect([...headers.keys()].filter((name) => name.includes('ratelimit'))).toEqual([]);
  });

  it.each([
    [{ client_secret: 's', code: 'x' }, 'client_id'],
    [{ client_id: '1', code: 'x' }, 'client_secret'],
    [{ client_id: '1', client_secret: 's', grant_type: 'password' }, 'grant_type'],
  ])('answers %j with 400 and a Fault', async (fields, field) => {
    const { status, body } = await sim.form('/oauth/token', fields);
    expect(status).toBe(400);
    expect(body.errors[0]).toMatchObject({ resource: 'Application', field });
  });
});

describe('a grace for rotated refresh tokens', () => {
  it('keeps the old one alive as long as configured', async () => {
    await sim.close();
    sim = await Harness.open({ refreshGraceSeconds: 60 });
    const { refreshToken } = await sim.connect();
    sim.time.advance(5.5 * HOUR_MS);
    const first = await sim.refresh(refreshToken);
    const second = await sim.refresh(refreshToken);
    expect(second.body.access_token).toBe(first.body.access_token);
    sim.time.advance(60_000);
    expect((await sim.refresh(refreshToken)).status).toBe(400);
  });
});

describe('an ended connection', () => {
  const basic = { authorization: `Basic ${Buffer.from('4711:strava-client-secret').toString('base64')}` };

  it('is ended by POST /oauth/deauthorize with the access token, after which every call answers 401', async () => {
    const { accessToken, refreshToken } = await sim.connect();
    const { status, body } = await sim.form('/oauth/deauthorize', { access_token: accessToken });
    expect(status).toBe(200);
    expect(body).toEqual({ access_token: accessToken });
    for (const path of ['/athlete', '/athlete/activities', '/activities/1', '/activities/1/streams']) {
      expect((await sim.get(`/api/v3${path}`, accessToken)).status).toBe(401);
    }
    expect((await sim.refresh(refreshToken)).status).toBe(400);
    expect((await sim.form('/oauth/deauthorize', { access_token: accessToken })).status).toBe(401);
  });

  it.each(['accessToken', 'refreshToken'] as const)(
    'is ended by POST /oauth/revoke of its %s',
    async (which) => {
      const connected = await sim.connect();
      const fields = { token: connected[which], token_type_hint: 'access_token' };
      expect((await sim.form('/oauth/revoke', fields, basic)).status).toBe(200);
      expect((await sim.get('/api/v3/athlete', connected.accessToken)).status).toBe(401);
      expect((await sim.refresh(connected.refreshToken)).status).toBe(400);
    },
  );

  it('is revoked already for an unknown token, while a missing one is 400', async () => {
    expect((await sim.form('/oauth/revoke', { token: 'nobody' }, basic)).status).toBe(200);
    const { status, body } = await sim.form('/oauth/revoke', {}, basic);
    expect(status).toBe(400);
    expect(body.errors[0]).toMatchObject({ field: 'token', code: 'required' });
  });

  it('is not ended without HTTP Basic credentials', async () => {
    const { accessToken } = await sim.connect();
    expect((await sim.form('/oauth/revoke', { token: accessToken })).status).toBe(401);
    expect((await sim.get('/api/v3/athlete', accessToken)).status).toBe(200);
  });
});

describe('an app that is not what it was', () => {
  it('answers 403 Application/Status/Inactive without a subscription', async () => {
    const { accessToken } = await sim.connect();
    await sim.sim('/faults', { vendor: 'strava', kind: 'app_inactive' });
    const { status, body } = await sim.get('/api/v3/athlete', accessToken);
    expect(status).toBe(403);
    expect(body.errors).toEqual([{ resource: 'Application', field: 'Status', code: 'Inactive' }]);
  });

  it('answers 403 to the athlete above its capacity, and lets the connected ones in again', async () => {
    await sim.close();
    sim = await Harness.open({ apps: { strava: { athleteCapacity: 1 } } });
    const first = await sim.connect();
    const second = await code();
    expect((await sim.get(`${AUTHORIZE}&athlete_id=${second.id}`)).status).toBe(403);
    const refused = await sim.exchange(second.code);
    expect(refused.status).toBe(403);
    expect(refused.body.message).toBe('Limit of connected athletes exceeded');
    expect((await sim.get(`${AUTHORIZE}&athlete_id=${first.id}`)).status).toBe(302);
  });

  it('lets in only its own client when started with credentials', async () => {
    await sim.close();
    sim = await Harness.open({ apps: { strava: { clientId: '4711', clientSecret: 'right' } } });
    const { code: issued } = await code();
    const fields = { client_id: '4711', grant_type: 'authorization_code', code: issued };
    expect((await sim.form('/oauth/token', { ...fields, client_secret: 'wrong' })).status).toBe(400);
    expect((await sim.form('/oauth/token', { ...fields, client_secret: 'right' })).status).toBe(200);
  });
});
