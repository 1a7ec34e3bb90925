import { mkdirSync } from 'node:fs';
import { afterAll, afterEach, beforeAll, describe, expect, it } from '@jest/globals';
import { type Browser, chromium } from 'playwright-core';
import request from 'supertest';
import { testEnvironment, tokenFor, type TestEnvironment } from '../harness/environment.js';
import { eventually } from '../harness/eventually.js';
import { errorBody } from '../harness/error-body.js';
import { ProductProcess } from '../harness/process.js';
import { Proxy } from '../harness/proxy.js';
import { CLIENT, SimulatorProcess } from '../harness/simulator.js';

const RETURN = 'https://app.example/settings';
const APP_URL = 'https://app.example';
const SCREENSHOTS = '.cache/screenshots';

let simulator: SimulatorProcess;
let environment: TestEnvironment;
let postgres: Proxy;
let api: ProductProcess;
let athletes = 0;
beforeAll(async () => {
  simulator = await SimulatorProcess.start();
  environment = await testEnvironment({
    ...simulator.env,
    WHOOP_CLIENT_ID: '',
    WHOOP_CLIENT_SECRET: '',
    PUBLIC_URL: 'https://pacekeeper.example',
    RETURN_URLS: RETURN,
    APP_NAME: 'Trainer',
    APP_URL,
  });
  postgres = await Proxy.before(environment.env.DATABASE_URL ?? '');
  api = await ProductProcess.start('api', { ...environment.env, DATABASE_URL: postgres.url });
});
afterEach(() => simulator.clearFaults());
afterAll(async () => {
  await api?.stop();
  await postgres?.close();
  await simulator?.stop();
  await environment?.release();
});

/** A new athlete, with functions for the requests that an app makes for this athlete. */
async function newAthlete(claims: Record<string, unknown> = {}) {
  athletes += 1;
  const authorization = `Bearer ${await tokenFor(`athlete-${athletes}`, claims)}`;
  const call = (method: 'get' | 'post' | 'delete', path = '') =>
    request(api.url)[method](`/v1/connections${path}`).set('authorization', authorization);
  const confirm = (provider: string, code: unknown) =>
    call('post', `/${provider}/confirm`).send({ confirm: code });
  const start = async (provider: string, body: object = {}) =>
    (await call('post', `/${provider}`).send(body).expect(201)).body.authorize_url as string;
  return { call, start, confirm };
}

const newVendorAthlete = (provider = 'strava') => simulator.newAthlete(provider);

/** The path and query of the callback to which the vendor redirects the browser after its consent page. */
const callbackPath = async (authorizeUrl: string, choice: Record<string, string>) => {
  const back = await simulator.consent(authorizeUrl, choice);
  expect(back.origin).toBe('https://pacekeeper.example');
  return back.pathname + back.search;
};

/** The confirmation code, from the JSON answer of the callback. */
const confirmCode = async (authorizeUrl: string, choice: Record<string, string>) => {
  const back = await callbackPath(authorizeUrl, choice);
  const { body } = await request(api.url).get(back).set('accept', 'application/json').expect(200);
  expect(body).toEqual({ provider: expect.any(String), result: 'confirm', confirm: expect.any(String) });
  return body.confirm as string;
};

describe('connecting an account', () => {
  it.each(['strava', 'oura', 'polar'])(
    'an athlete connects %s by consent, callback and confirmation, and disconnects it',
    async (provider) => {
      const { call, start, confirm } = await newAthlete();
      expect((await call('get').expect(200)).body).toEqual({ items: [] });
      const vendorId = await newVendorAthlete(provider);
      const back = await callbackPath(await start(provider, { return_url: `${RETURN}?tab=2` }), {
        athlete_id: vendorId,
      });
      const answer = await request(api.url).get(back).expect(302);
      const location = new URL(answer.headers.location ?? '');
      const code = location.searchParams.get('confirm');
      expect(location.href).toBe(`${RETURN}?tab=2&provider=${provider}&result=confirm&confirm=${code}`);
      expect(answer.headers['cache-control']).toBe('no-store');
      expect((await call('get').expect(200)).body).toEqual({ items: [] });
      const connection = {
        provider,
        status: 'active',
        vendor_athlete_id: vendorId,
        scopes: expect.any(Array),
        connected_at: expect.any(String),
      };
      expect((await confirm(provider, code).expect(200)).body).toEqual(connection);
      expect((await call('get').expect(200)).body.items).toEqual([connection]);
      expect((await confirm(provider, code).expect(410)).body).toMatchObject({ code: 'CONSENT_LAPSED' });

      await call('delete', `/${provider}`).expect(202);
      expect((await call('get').expect(200)).body).toEqual({ items: [] });
      expect(await simulator.isConnected(vendorId)).toBe(false);
      await call('delete', `/${provider}`).expect(404);
    },
  );

  it('the callback or the confirmation tells the app why a connection failed and which scope is missing', async () => {
    const { start, confirm } = await newAthlete();
    const end = async (choice: Record<string, string>) => {
      const back = await callbackPath(await start('strava', { return_url: RETURN }), choice);
      return (await request(api.url).get(back).expect(302)).headers.location?.replace(`${RETURN}?`, '');
    };
    const confirmed = async (choice: Record<string, string>, provider = 'strava') => {
      const answer = await confirm(provider, await confirmCode(await start(provider), choice));
      const { code, details } = answer.body as { code: string; details: string[] };
      return [answer.status, code, details];
    };
    const athlete_id = await newVendorAthlete();
    expect(await end({ decision: 'deny' })).toBe('provider=strava&result=denied');
    expect(await end({ athlete_id, scope_granted: 'read' })).toBe(
      'provider=strava&result=missing_scope&missing=activity%3Aread',
    );
    await simulator.fault('strava', 'token', 'http_500', { count: 1 });
    expect(await confirmed({ athlete_id })).toEqual([502, 'VENDOR_SILENT', []]);
    await simulator.fault('strava', 'token', 'app_inactive', { count: 1 });
    expect(await confirmed({ athlete_id })).toEqual([502, 'VENDOR_REFUSES_APP', []]);
    expect((await confirmed({ athlete_id }))[0]).toBe(200);
    expect(await confirmed({ athlete_id: await newVendorAthlete() })).toEqual([
      409,
      'OTHER_ACCOUNT_CONNECTED',
      [],
    ]);
    const person = { athlete_id: await newVendorAthlete('oura'), scope_granted: 'personal' };
    expect(await confirmed(person, 'oura')).toEqual([409, 'MISSING_SCOPE', ['scope: daily is missing']]);
    await simulator.fault('polar', 'users', 'consents_missing', { count: 1 });
    const user = { athlete_id: await newVendorAthlete('polar') };
    expect(await confirmed(user, 'polar')).toEqual([409, 'VENDOR_CONSENTS_MISSING', []]);
    expect((await confirmed(user, 'polar'))[0]).toBe(200);
  });

  it('the api answers 409 if a second athlete connects a vendor account, and lists the account for its first athlete only', async () => {
    const [owner, other] = [await newAthlete(), await newAthlete()];
    const athlete_id = await newVendorAthlete();
    await owner.confirm('strava', await confirmCode(await owner.start('strava'), { athlete_id })).expect(200);
    const taken = await other.confirm(
      'strava',
      await confirmCode(await other.start('strava'), { athlete_id }),
    );
    expect(taken.status).toBe(409);
    expect(taken.body).toEqual(errorBody({ code: 'VENDOR_ACCOUNT_TAKEN', details: [] }));
    expect((await other.call('get')).body).toEqual({ items: [] });
    await other.call('delete', '/strava').expect(404);
    expect((await owner.call('get')).body.items).toHaveLength(1);
    expect(await simulator.isConnected(athlete_id)).toBe(true);
  });

  const strange: ReadonlyArray<readonly [string, string, string | object, number, string[]]> = [
    ['a body that is a list', 'strava', [], 400, []],
    ['a body that is a string', 'strava', '"x"', 400, []],
    ['an unknown field', 'strava', { state: 'x' }, 400, ['state: unknown field']],
    ['a number as return_url', 'strava', { return_url: 5 }, 400, ['return_url']],
    ['a list as return_url', 'strava', { return_url: [RETURN] }, 400, ['return_url']],
    [
      'a relative return_url',
      'strava',
      { return_url: 'settings' },
      400,
      ['return_url: must be an absolute URL'],
    ],
    [
      'a return_url on an unknown host',
      'strava',
      { return_url: 'https://app.example.evil.com/settings' },
      400,
      ['return_url: is'],
    ],
    [
      'a return_url with a user name',
      'strava',
      { return_url: 'https://app.example@evil.com/' },
      400,
      ['return_url: must not'],
    ],
    [
      'a return_url with NUL',
      'strava',
      { return_url: `${RETURN}/\0` },
      400,
      ['return_url: must not contain NUL'],
    ],
    [
      'a return_url of 3,000 characters',
      'strava',
      { return_url: `${RETURN}/${'x'.repeat(3_000)}` },
      400,
      ['return_url'],
    ],
    ['an unknown provider', 'garmin', {}, 404, []],
    ['a provider with a NUL', '%00', {}, 400, ['provider: must not contain NUL']],
    ['a provider named like a property of every object', 'constructor', {}, 404, []],
    ['a provider that is not configured', 'whoop', {}, 404, []],
  ];
  it.each(strange)(
    'POST /v1/connections/{provider} refuses %s',
    async (_, provider, body, status, details) => {
      const { call } = await newAthlete();
      const sent = call('post', `/${provider}`).set('content-type', 'application/json');
      const answer = await sent.send(typeof body === 'string' ? body : JSON.stringify(body));
      expect(answer.status).toBe(status);
      expect(answer.body).toMatchObject({ error: expect.any(String), request_id: expect.any(String) });
      details.forEach((text, index) => expect(answer.body.details[index]).toContain(text));
      if (status === 404) await call('delete', `/${provider}`).expect(404);
    },
  );

  it('a consent link that another person opens connects nothing, because only the athlete who began can confirm', async () => {
    const [attacker, victim] = [await newAthlete(), await newAthlete()];
    const athlete_id = await newVendorAthlete();
    // The victim consents on the vendor's genuine page, in the victim's own browser.
    const back = await callbackPath(await attacker.start('strava', { return_url: RETURN }), { athlete_id });
    const { headers } = await request(api.url).get(back).expect(302);
    const code = new URL(headers.location ?? '').searchParams.get('confirm');
    expect((await attacker.call('get')).body).toEqual({ items: [] });
    // The app confirms with the token of the victim, who is signed in to the app.
    expect((await victim.confirm('strava', code).expect(404)).body).toEqual(
      errorBody({ code: 'CONSENT_UNKNOWN', details: [] }),
    );
    expect((await victim.call('get')).body).toEqual({ items: [] });
    expect(await simulator.isConnected(athlete_id)).toBe(false);
    // The victim can still connect their own account.
    await victim
      .confirm('strava', await confirmCode(await victim.start('strava'), { athlete_id }))
      .expect(200);
  });

  it.each([
    ['no code', undefined, 400],
    ['a code that is a number', 5, 400],
    ['an empty code', '', 400],
    ['an unknown code', 'x'.repeat(43), 404],
    ['a code with NUL', 'a\0', 400],
  ])('POST /v1/connections/strava/confirm refuses %s', async (_, code, status) => {
    const { confirm } = await newAthlete();
    const answer = await confirm('strava', code);
    expect([answer.status, answer.body]).toEqual([status, errorBody()]);
  });

  it('the callback answers a client that accepts JSON with the reason why nothing can be confirmed', async () => {
    const { start } = await newAthlete();
    const back = await callbackPath(await start('strava'), { decision: 'deny' });
    const call = (path: string) => request(api.url).get(path).set('accept', 'application/json');
    const denied = { provider: 'strava', result: 'denied', code: 'CONSENT_DENIED' };
    expect((await call(back).expect(403)).body).toEqual(errorBody(denied));
    const lapsed = { provider: 'strava', result: 'failed', code: 'CONSENT_LAPSED' };
    expect((await call(back).expect(400)).body).toEqual(errorBody(lapsed));
    expect((await call('/oauth/garmin/callback').expect(404)).body).toMatchObject({ code: 'NOT_FOUND' });
  });

  it('the callback of an unknown vendor answers a browser with a page, not with JSON', async () => {
    const page = await request(api.url).get('/oauth/garmin/callback').set('accept', 'text/html').expect(404);
    expect(page.type).toBe('text/html');
    expect(page.text).toContain('<main class="bad">');
    expect(page.text).toContain('This cannot be connected here');
  });

  it('POST /v1/connections names a vendor that is not configured, and accepts a missing body, null and a null return_url', async () => {
    const { call } = await newAthlete();
    expect((await call('post', '/whoop')).body.error).toBe('WHOOP is not offered here');
    await call('post', '/strava').expect(201);
    await call('post', '/strava').send({ return_url: null }).expect(201);
    await call('post', '/strava').set('content-type', 'application/json').send('null').expect(201);
  });

  it('every route of /v1/connections answers 401 without a token', async () => {
    for (const [method, path] of [
      ['get', ''],
      ['post', '/strava'],
      ['post', '/strava/confirm'],
      ['delete', '/strava'],
    ] as const)
      await request(api.url)[method](`/v1/connections${path}`).expect(401);
  });
});

describe('the callback', () => {
  const strange = [
    '',
    '?state=',
    '?state=forged&code=x',
    '?state=a&state=b&code=x',
    '?state[a]=b&code=x',
    '?error=access_denied',
    `?state=${'x'.repeat(8_000)}`,
    '?state=<script>alert(1)</script>&error=<script>&scope=%22%3E%3Cscript%3E',
  ];
  it.each(strange)('the callback answers the query %j with a page that does not repeat it', async (query) => {
    const answer = await request(api.url).get(`/oauth/strava/callback${query}`);
    expect(answer.status).toBe(400);
    expect(answer.headers).toMatchObject({
      'content-type': 'text/html; charset=utf-8',
      'cache-control': 'no-store',
      'referrer-policy': 'no-referrer',
    });
    expect(answer.headers['content-security-policy']).toMatch(/^default-src 'none'; style-src 'sha256-/);
    expect(answer.text).toContain('This link does not work any more');
    expect(answer.text).not.toMatch(/<script|forged|xxxx/);
  });

  it.each(['garmin', 'whoop', 'constructor'])(
    'the callback of %s, which is not offered, answers 404 with a page',
    async (provider) => {
      const answer = await request(api.url).get(`/oauth/${provider}/callback?state=x&code=x`).expect(404);
      expect(answer.headers['content-type']).toBe('text/html; charset=utf-8');
      expect(answer.text).toContain('This cannot be connected here');
    },
  );

  it('the callback answers 503 while Postgres is away, and the same state works once Postgres is back', async () => {
    const { start, call, confirm } = await newAthlete();
    const back = await callbackPath(await start('strava'), { athlete_id: await newVendorAthlete() });
    postgres.cut();
    const answer = await request(api.url).get(back);
    postgres.heal();
    expect(answer.status).toBe(503);
    expect(answer.text).toContain('load this page again');
    expect(Number(answer.headers['retry-after'])).toBeGreaterThan(0);
    const program = () => request(api.url).get(back).set('accept', 'application/json');
    const code = await eventually('a code to confirm', async () => (await program()).body.confirm as string);
    await confirm('strava', code).expect(200);
    expect((await call('get')).body.items).toHaveLength(1);
  });

  it('a confirmation answers 502 within five seconds when the vendor never answers', async () => {
    const { start, confirm } = await newAthlete();
    const code = await confirmCode(await start('strava'), { athlete_id: await newVendorAthlete() });
    await simulator.fault('strava', 'token', 'timeout', { count: 1 });
    const startedAt = performance.now();
    const { body } = await confirm('strava', code).expect(502);
    expect(performance.now() - startedAt).toBeLessThan(5_000);
    expect(body.error).toContain('Strava does not answer');
  });

  it('a failed code exchange logs no state, code or client secret', async () => {
    const { start, confirm } = await newAthlete();
    const back = await callbackPath(await start('strava'), { athlete_id: await newVendorAthlete() });
    const { body } = await request(api.url).get(back).set('accept', 'application/json').expect(200);
    await simulator.fault('strava', 'token', 'malformed', { count: 1 });
    await confirm('strava', body.confirm).expect(502);
    await api.line((line) => line.msg === 'a code could not be exchanged');
    const log = JSON.stringify(api.lines);
    const query = new URLSearchParams(back.slice(back.indexOf('?')));
    for (const secret of [query.get('state'), query.get('code'), body.confirm, CLIENT.secret])
      expect(log).not.toContain(secret);
  });
});

describe('the pages for athletes who connect an account', () => {
  let browser: Browser;
  beforeAll(async () => {
    mkdirSync(SCREENSHOTS, { recursive: true });
    browser = await chromium.launch({
      executablePath: process.env.CHROMIUM_PATH,
      args: ['--no-sandbox', '--disable-gpu', '--disable-quic', '--disable-background-networking'],
    });
  });
  afterAll(() => browser?.close());

  const open = async (path: string, width = 1280, colorScheme: 'light' | 'dark' = 'light') => {
    const context = await browser.newContext({ viewport: { width, height: 720 }, colorScheme });
    const page = await context.newPage();
    const problems: string[] = [];
    page.on('console', (message) => message.type() === 'error' && problems.push(message.text()));
    const answer = await page.goto(api.url + path);
    return { page, problems, answer };
  };
  const mallory = { name: 'Mallory\u202e<b>', email: 'mallory@example.org' };

  it.each([
    ['wide', 1280, 'light'],
    ['narrow', 360, 'dark'],
  ] as const)(
    'the consent page names the account, connects it after a yes and then says that it is connected (%s)',
    async (size, width, scheme) => {
      const { start, call } = await newAthlete(mallory);
      const vendorId = await newVendorAthlete();
      const { page, problems, answer } = await open(
        await callbackPath(await start('strava'), { athlete_id: vendorId }),
        width,
        scheme,
      );
      expect(await page.locator('.account').textContent()).toBe('Mallory <b> (mallory@example.org)');
      expect(answer?.headers()).toMatchObject({
        'x-frame-options': 'DENY',
        'content-security-policy': expect.stringContaining("frame-ancestors 'none'"),
      });
      expect((await call('get')).body).toEqual({ items: [] });
      expect(await page.evaluate('document.documentElement.scrollWidth > innerWidth')).toBe(false);
      await page.screenshot({ path: `${SCREENSHOTS}/consent-${size}.png` });
      await page.getByRole('button', { name: 'Yes' }).click();
      expect(await page.locator('h1').textContent()).toBe('Strava is connected');
      expect(await page.getByRole('link', { name: 'Back to Trainer' }).getAttribute('href')).toBe(APP_URL);
      await page.screenshot({ path: `${SCREENSHOTS}/callback-connected-${size}.png` });
      expect((await call('get')).body.items).toMatchObject([{ vendor_athlete_id: vendorId }]);
      expect(problems).toEqual([]);
      await page.context().close();
    },
  );

  it('the consent page connects nothing after a no, even if the browser goes back to the page', async () => {
    const { start, call } = await newAthlete();
    const vendorId = await newVendorAthlete();
    const { page } = await open(await callbackPath(await start('strava'), { athlete_id: vendorId }));
    await page.getByRole('button', { name: 'No' }).click();
    expect(await page.locator('h1').textContent()).toBe('Strava was not connected');
    await page.goBack();
    expect((await call('get')).body).toEqual({ items: [] });
    expect(await simulator.isConnected(vendorId)).toBe(false);
    await page.context().close();
  });

  const page = async (athlete: { start(provider: string): Promise<string> }) => {
    const back = await callbackPath(await athlete.start('strava'), { athlete_id: await newVendorAthlete() });
    const { text, headers } = await request(api.url).get(back).expect(200);
    const field = (name: string) => new RegExp(`name="${name}" value="([^"]+)"`).exec(text)?.[1] ?? '';
    expect(String(headers['set-cookie'])).toMatch(
      /^__Host-consent-\w+=.*; HttpOnly; SameSite=Strict; Secure$/,
    );
    const cookie = String(headers['set-cookie']).split(';')[0] ?? '';
    return { cookie, form: { confirm: field('confirm'), csrf: field('csrf'), decision: 'yes' } };
  };
  const post = (form: object, headers: Record<string, string>, provider = 'strava') =>
    request(api.url).post(`/oauth/${provider}/callback`).type('form').set(headers).send(form);

  const forgeries: ReadonlyArray<
    readonly [string, (shown: Awaited<ReturnType<typeof page>>) => ReturnType<typeof post>]
  > = [
    ['without the cookie', ({ form }) => post(form, {})],
    ['with another cookie', ({ form, cookie }) => post(form, { cookie: `${cookie}x` })],
    ['with another CSRF token', ({ form, cookie }) => post({ ...form, csrf: 'x' }, { cookie })],
    ['without a CSRF token', ({ form, cookie }) => post({ ...form, csrf: undefined }, { cookie })],
    ['from another site', ({ form, cookie }) => post(form, { cookie, 'sec-fetch-site': 'cross-site' })],
    [
      'from another origin of the same site',
      ({ form, cookie }) => post(form, { cookie, 'sec-fetch-site': 'same-site' }),
    ],
    ['with two codes', ({ form, cookie }) => post({ ...form, confirm: [form.confirm, 'x'] }, { cookie })],
  ];
  it.each(forgeries)(
    'the consent page refuses an answer %s, and a correct answer still works afterwards',
    async (_, forged) => {
      const athlete = await newAthlete();
      const shown = await page(athlete);
      expect((await forged(shown)).text).toContain('Your browser was not recognised');
      expect((await athlete.call('get')).body).toEqual({ items: [] });
      const { text } = await post(shown.form, { cookie: shown.cookie, 'sec-fetch-site': 'same-origin' });
      expect(text).toContain('Strava is connected');
      expect((await post(shown.form, { cookie: shown.cookie })).text).toContain('does not work any more');
      expect((await athlete.call('get')).body.items).toHaveLength(1);
    },
  );

  it('the consent page answers 413 to a large form, and other routes answer 415 to any form', async () => {
    const athlete = await newAthlete();
    const { form, cookie } = await page(athlete);
    await post({ ...form, more: 'x'.repeat(5_000) }, { cookie }).expect(413);
    const { body } = await athlete
      .call('post', '/strava')
      .type('form')
      .send({ return_url: RETURN })
      .expect(415);
    expect(body).toEqual(errorBody({ code: 'UNSUPPORTED_MEDIA_TYPE', details: [] }));
  });

  const ends: ReadonlyArray<readonly [string, Record<string, string>, string]> = [
    ['missing', { scope_granted: 'activity:read' }, 'Strava needs more permission'],
    ['denied', { decision: 'deny' }, 'Strava was not connected'],
    ['stale', { stale: 'yes' }, 'This link does not work any more'],
  ];
  it.each(ends)(
    'the callback page for the result "%s" has its heading and style, and fits a wide and a narrow screen',
    async (name, choice, heading) => {
      for (const [size, width, colorScheme] of [
        ['wide', 1280, 'light'],
        ['narrow', 360, 'dark'],
      ] as const) {
        const { start } = await newAthlete();
        const back = choice.stale
          ? '/oauth/strava/callback'
          : await callbackPath(await start('strava'), { athlete_id: await newVendorAthlete(), ...choice });
        const page = await browser.newPage({ viewport: { width, height: 720 }, colorScheme });
        const problems: string[] = [];
        page.on('console', (message) => message.type() === 'error' && problems.push(message.text()));
        await page.goto(api.url + back);
        expect(await page.locator('h1').textContent()).toBe(heading);
        expect(await page.title()).toBe(heading);
        // The page is styled and not wider than the screen.
        const seen = await page.evaluate(
          `({ radius: getComputedStyle(document.querySelector('main')).borderRadius,
            overflow: document.documentElement.scrollWidth > innerWidth })`,
        );
        expect(seen).toEqual({ radius: '18px', overflow: false });
        // The browser itself logs an error for an answer with a 4xx status.
        expect(problems.filter((text) => !/status of 4\d\d/.test(text))).toEqual([]);
        await page.screenshot({ path: `${SCREENSHOTS}/callback-${name}-${size}.png` });
        await page.close();
      }
    },
  );
});
