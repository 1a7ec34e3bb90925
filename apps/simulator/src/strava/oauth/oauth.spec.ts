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

/** A multipart form, as `curl -F` sends it. */
function multipart(fields: Record<string, string>): FormData {
  const form = new FormData();
  for (const [name, value] of Object.entries(fields)) form.set(name, value);
  return form;
}

function redirectOf(headers: Headers): URL {
  return new URL(headers.get('location') ?? '');
}

it("Strava's OAuth routes answer below /oauth and /api/v3/oauth, with HTTP Basic credentials", async () => {
  const { id } = await code();
  for (const base of ['/api/v3/oauth', '/oauth']) {
    const consent = await sim.get(`${base}${AUTHORIZE.slice('/oauth'.length)}&athlete_id=${id}`);
    const fields = {
      grant_type: 'authorization_code',
      code: redirectOf(consent.headers).searchParams.get('code')!,
    };
    const basic = (pair: string) => ({ authorization: `Basic ${Buffer.from(pair).toString('base64')}` });
    expect((await sim.form(`${base}/token`, fields, basic('4711:'))).status).toBe(400);
    expect((await sim.form(`${base}/token`, fields, basic('4711:secret'))).status).toBe(200);
  }
});

describe("Strava's authorize page", () => {
  it("Strava's authorize page shows a ticked box per scope and a choice per athlete", async () => {
    const { id } = await code();
    const { status, headers, text } = await sim.get(AUTHORIZE);
    expect(status).toBe(200);
    expect(headers.get('content-type')).toContain('text/html');
    expect(text.match(/type="checkbox"/g)).toHaveLength(3);
    expect(text).toContain(`name="athlete_id" value="${id}"`);
    expect(text).toContain('name="athlete_id" value="new"');
  });

  it('GET /oauth/authorize with athlete_id consents at once and echoes state and scope in a 302', async () => {
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

  it('GET /oauth/authorize accepts the seven scopes and approval_prompt=force', async () => {
    const { id } = await code();
    const scopes =
      'read,read_all,profile:read_all,profile:write,activity:read,activity:read_all,activity:write';
    const asked = AUTHORIZE.replace(/scope=.*/, `scope=${scopes}`).replace('=auto', '=force');
    const { headers } = await sim.get(`${asked}&athlete_id=${id}`);
    expect(redirectOf(headers).searchParams.get('scope')).toBe(scopes);
  });

  it('GET /oauth/authorize with scope_granted gives the token only the scopes in scope_granted', async () => {
    const { id } = await code();
    const { headers } = await sim.get(`${AUTHORIZE}&athlete_id=${id}&scope_granted=read`);
    expect(redirectOf(headers).searchParams.get('scope')).toBe('read');
    const { body } = await sim.exchange(redirectOf(headers).searchParams.get('code') ?? '');
    expect((await sim.get('/api/v3/athlete/activities', body.access_token)).status).toBe(401);
  });

  it('POST /oauth/authorize accepts the form of the page with unticked boxes and a new athlete', async () => {
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

  it('GET /oauth/authorize with decision=deny redirects with error=access_denied', async () => {
    const { headers } = await sim.get(`${AUTHORIZE}&decision=deny`);
    expect(redirectOf(headers).searchParams.get('error')).toBe('access_denied');
    expect(redirectOf(headers).searchParams.get('state')).toBe('s 1');
  });

  it("Strava's authorize page shows a hostile state parameter as text", async () => {
    const { text } = await sim.get(AUTHORIZE.replace('s%201', '%22%3E%3Cscript%3E'));
    expect(text).not.toContain('<script>');
  });

  it.each([
    ['client_id', 'client_id=4711', 'client_id='],
    ['redirect_uri', '&redirect_uri=http%3A%2F%2F', '&redirect_uri='],
    ['scope', 'scope=read', 'scope=view_private'],
    ['response_type', 'response_type=code', 'response_type=token'],
    ['approval_prompt', 'approval_prompt=auto', 'approval_prompt=maybe'],
  ])(
    'GET /oauth/authorize answers 400 to a wrong %s and names it in the Fault',
    async (field, right, wrong) => {
      const { status, body } = await sim.get(AUTHORIZE.replace(right, wrong));
      expect(status).toBe(400);
      expect(body).toMatchObject({ message: 'Bad Request', errors: [{ field, code: 'invalid' }] });
    },
  );
});

describe("Strava's token endpoint", () => {
  it.each(['form', 'query', 'json', 'multipart'])(
    "Strava's token endpoint takes its fields as %s",
    async (how) => {
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
    },
  );

  it("Strava's token endpoint answers token_type, expires_at, expires_in and both tokens, and the athlete to an exchange", async () => {
    const { body } = await sim.exchange((await code()).code);
    const fields = ['access_token', 'expires_at', 'expires_in', 'refresh_token', 'token_type'];
    expect(Object.keys(body).sort()).toEqual([...fields, 'athlete'].sort());
    expect(Object.keys((await sim.refresh(body.refresh_token)).body).sort()).toEqual(fields);
  });

  it("Strava's token endpoint answers 400 to the second use of a code", async () => {
    const { code: once } = await code();
    expect((await sim.exchange(once)).status).toBe(200);
    const again = await sim.exchange(once);
    expect(again.status).toBe(400);
    expect(again.body.errors).toEqual([{ resource: 'AuthorizationCode', field: 'code', code: 'invalid' }]);
  });

  it('a Strava access token is valid for six hours, with expires_at in real epoch seconds', async () => {
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

  it('a Strava refresh returns the same tokens while more than one hour is left', async () => {
    const { accessToken, refreshToken } = await sim.connect();
    sim.time.advance(5 * HOUR_MS - 1000);
    const { body } = await sim.refresh(refreshToken);
    expect(body).toMatchObject({ access_token: accessToken, refresh_token: refreshToken, expires_in: 3601 });
  });

  it('a Strava refresh in the last hour rotates the refresh token, revokes the old refresh token and answers no athlete', async () => {
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

  it("Strava's token endpoint sends no rate headers", async () => {
    const { headers } = await sim.exchange((await code()).code);
    expect([...headers.keys()].filter((name) => name.includes('ratelimit'))).toEqual([]);
  });

  it.each([
    [{ client_secret: 's', code: 'x' }, 'client_id'],
    [{ client_id: '1', code: 'x' }, 'client_secret'],
    [{ client_id: '1', client_secret: 's', grant_type: 'password' }, 'grant_type'],
  ])("Strava's token endpoint answers 400 to %j and names %s in the Fault", async (fields, field) => {
    const { status, body } = await sim.form('/oauth/token', fields);
    expect(status).toBe(400);
    expect(body.errors[0]).toMatchObject({ resource: 'Application', field });
  });
});

describe("Strava's grace for rotated refresh tokens", () => {
  it('a rotated Strava refresh token works until the configured grace ends', async () => {
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

describe('end of a Strava connection', () => {
  const basic = { authorization: `Basic ${Buffer.from('4711:strava-client-secret').toString('base64')}` };

  it('POST /oauth/deauthorize ends the grant, and every later call gets 401', async () => {
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
    'POST /oauth/revoke of the %s ends the grant',
    async (which) => {
      const connected = await sim.connect();
      const fields = { token: connected[which], token_type_hint: 'access_token' };
      expect((await sim.form('/oauth/revoke', fields, basic)).status).toBe(200);
      expect((await sim.get('/api/v3/athlete', connected.accessToken)).status).toBe(401);
      expect((await sim.refresh(connected.refreshToken)).status).toBe(400);
    },
  );

  it('POST /oauth/revoke answers 200 to an unknown token and 400 without a token', async () => {
    expect((await sim.form('/oauth/revoke', { token: 'nobody' }, basic)).status).toBe(200);
    const { status, body } = await sim.form('/oauth/revoke', {}, basic);
    expect(status).toBe(400);
    expect(body.errors[0]).toMatchObject({ field: 'token', code: 'required' });
  });

  it('POST /oauth/revoke answers 401 without HTTP Basic credentials and keeps the grant', async () => {
    const { accessToken } = await sim.connect();
    expect((await sim.form('/oauth/revoke', { token: accessToken })).status).toBe(401);
    expect((await sim.get('/api/v3/athlete', accessToken)).status).toBe(200);
  });
});

describe('states of a Strava app', () => {
  it('under the fault app_inactive Strava answers 403 Application/Status/Inactive', async () => {
    const { accessToken } = await sim.connect();
    await sim.sim('/faults', { vendor: 'strava', kind: 'app_inactive' });
    const { status, body } = await sim.get('/api/v3/athlete', accessToken);
    expect(status).toBe(403);
    expect(body.errors).toEqual([{ resource: 'Application', field: 'Status', code: 'Inactive' }]);
  });

  it('Strava answers 403 to an athlete above the capacity of the app, and a connected athlete can consent again', async () => {
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

  it("Strava's token endpoint accepts only the configured client secret", async () => {
    await sim.close();
    sim = await Harness.open({ apps: { strava: { clientId: '4711', clientSecret: 'right' } } });
    const { code: issued } = await code();
    const fields = { client_id: '4711', grant_type: 'authorization_code', code: issued };
    expect((await sim.form('/oauth/token', { ...fields, client_secret: 'wrong' })).status).toBe(400);
    expect((await sim.form('/oauth/token', { ...fields, client_secret: 'right' })).status).toBe(200);
  });
});
