import { mkdirSync } from 'node:fs';
import { afterAll, afterEach, beforeAll, describe, expect, it } from '@jest/globals';
import { type Browser, chromium } from 'playwright-core';
import request from 'supertest';
import { testEnvironment, tokenFor, type TestEnvironment } from '../harness/environment.js';
import { eventually } from '../harness/eventually.js';
import { ProductProcess } from '../harness/process.js';
import { Proxy } from '../harness/proxy.js';
import { CLIENT, SimulatorProcess } from '../harness/simulator.js';

const RETURN = 'https://app.example/settings';
const SCREENSHOTS = '.cache/screenshots';

let simulator: SimulatorProcess;
let environment: TestEnvironment;
let postgres: Proxy;
let api: ProductProcess;
let people = 0;
beforeAll(async () => {
  simulator = await SimulatorProcess.start();
  environment = await testEnvironment({
    ...simulator.env,
    WHOOP_CLIENT_ID: '',
    WHOOP_CLIENT_SECRET: '',
    PUBLIC_URL: 'https://pacekeeper.example',
    RETURN_URLS: RETURN,
  });
  postgres = await Proxy.before(environment.env.DATABASE_URL ?? '');
  api = await ProductProcess.start('api', { ...environment.env, DATABASE_URL: postgres.url });
});
afterEach(() => simulator.clearFaults());
afterAll(async () => {
  await api.stop();
  await postgres.close();
  await simulator.stop();
  await environment.release();
});

/** An athlete as an app speaks for them. */
async function someone() {
  people += 1;
  const authorization = `Bearer ${await tokenFor(`somebody-${people}`)}`;
  const ask = (method: 'get' | 'post' | 'delete', path = '') =>
    request(api.url)[method](`/v1/connections${path}`).set('authorization', authorization);
  const start = async (provider: string, body: object = {}) =>
    (await ask('post', `/${provider}`).send(body).expect(201)).body.authorize_url as string;
  return { ask, start };
}

const newVendorAthlete = (provider = 'strava') => simulator.newAthlete(provider);

/** Where the vendor sends the browser back to, at the api as it can be reached here. */
const wayBack = async (authorizeUrl: string, choice: Record<string, string>) => {
  const back = await simulator.consent(authorizeUrl, choice);
  expect(back.origin).toBe('https://pacekeeper.example');
  return back.pathname + back.search;
};

describe('connecting an account', () => {
  it.each(['strava', 'oura'])('goes all the way and back for %s, and ends again', async (provider) => {
    const { ask, start } = await someone();
    expect((await ask('get').expect(200)).body).toEqual({ items: [] });
    const vendorId = await newVendorAthlete(provider);
    const back = await wayBack(await start(provider, { return_url: `${RETURN}?tab=2` }), {
      athlete_id: vendorId,
    });
    const answer = await request(api.url).get(back).expect(302);
    expect(answer.headers.location).toBe(`${RETURN}?tab=2&provider=${provider}&result=connected`);
    expect(answer.headers['cache-control']).toBe('no-store');
    expect((await ask('get').expect(200)).body.items).toEqual([
      {
        provider,
        status: 'active',
        vendor_athlete_id: vendorId,
        scopes: expect.any(Array),
        connected_at: expect.any(String),
      },
    ]);

    await ask('delete', `/${provider}`).expect(202);
    expect((await ask('get').expect(200)).body).toEqual({ items: [] });
    expect(await simulator.isConnected(vendorId)).toBe(false);
    await ask('delete', `/${provider}`).expect(404);
  });

  it('tells the app what went wrong, and what is missing', async () => {
    const { start } = await someone();
    const end = async (choice: Record<string, string>) => {
      const back = await wayBack(await start('strava', { return_url: RETURN }), choice);
      return (await request(api.url).get(back).expect(302)).headers.location?.replace(`${RETURN}?`, '');
    };
    const athlete_id = await newVendorAthlete();
    expect(await end({ decision: 'deny' })).toBe('provider=strava&result=denied');
    expect(await end({ athlete_id, scope_granted: 'read' })).toBe(
      'provider=strava&result=missing_scope&missing=activity%3Aread',
    );
    await simulator.fault('strava', 'token', 'http_500', { count: 1 });
    expect(await end({ athlete_id })).toBe('provider=strava&result=failed');
    expect(await end({ athlete_id })).toBe('provider=strava&result=connected');
    expect(await end({ athlete_id: await newVendorAthlete() })).toBe(
      'provider=strava&result=already_connected',
    );
  });

  it('keeps an account with whoever has it, and shows nobody another one’s', async () => {
    const [owner, other] = [await someone(), await someone()];
    const athlete_id = await newVendorAthlete();
    await request(api.url)
      .get(await wayBack(await owner.start('strava'), { athlete_id }))
      .expect(200);
    const taken = await request(api.url).get(await wayBack(await other.start('strava'), { athlete_id }));
    expect(taken.status).toBe(409);
    expect(taken.text).toContain('disconnect Strava there');
    expect((await other.ask('get')).body).toEqual({ items: [] });
    await other.ask('delete', '/strava').expect(404);
    expect((await owner.ask('get')).body.items).toHaveLength(1);
    expect(await simulator.isConnected(athlete_id)).toBe(true);
  });

  const strange: ReadonlyArray<readonly [string, string, string | object, number, string[]]> = [
    ['a list for a body', 'strava', [], 400, []],
    ['a word for a body', 'strava', '"x"', 400, []],
    ['an unknown field', 'strava', { state: 'x' }, 400, ['state: unknown field']],
    ['a number', 'strava', { return_url: 5 }, 400, ['return_url']],
    ['a list', 'strava', { return_url: [RETURN] }, 400, ['return_url']],
    ['no URL', 'strava', { return_url: 'settings' }, 400, ['return_url: must be an absolute URL']],
    [
      'a stranger',
      'strava',
      { return_url: 'https://app.example.evil.com/settings' },
      400,
      ['return_url: is'],
    ],
    ['a user name', 'strava', { return_url: 'https://app.example@evil.com/' }, 400, ['return_url: must not']],
    ['a NUL', 'strava', { return_url: `${RETURN}/\0` }, 400, ['return_url: must be']],
    ['an endless URL', 'strava', { return_url: `${RETURN}/${'x'.repeat(3_000)}` }, 400, ['return_url']],
    ['an unknown provider', 'garmin', {}, 404, []],
    ['a provider with a NUL', '%00', {}, 404, []],
    ['a provider of every object', 'constructor', {}, 404, []],
    ['a provider that is not configured', 'whoop', {}, 404, []],
  ];
  it.each(strange)('refuses %s', async (_, provider, body, status, details) => {
    const { ask } = await someone();
    const asked = ask('post', `/${provider}`).set('content-type', 'application/json');
    const answer = await asked.send(typeof body === 'string' ? body : JSON.stringify(body));
    expect(answer.status).toBe(status);
    expect(answer.body).toMatchObject({ error: expect.any(String), request_id: expect.any(String) });
    details.forEach((text, index) => expect(answer.body.details[index]).toContain(text));
    if (status === 404) await ask('delete', `/${provider}`).expect(404);
  });

  it('says which vendor is not offered', async () => {
    const { ask } = await someone();
    expect((await ask('post', '/whoop')).body.error).toBe('WHOOP is not offered here');
    await ask('post', '/strava').expect(201);
    await ask('post', '/strava').send({ return_url: null }).expect(201);
    await ask('post', '/strava').set('content-type', 'application/json').send('null').expect(201);
  });

  it('is for athletes who say who they are', async () => {
    for (const [method, path] of [
      ['get', ''],
      ['post', '/strava'],
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
    '?state=%00&code=%00',
    '?error=access_denied',
    `?state=${'x'.repeat(8_000)}`,
    '?state=<script>alert(1)</script>&error=<script>&scope=%22%3E%3Cscript%3E',
  ];
  it.each(strange)('shows a page to whoever comes with %j', async (query) => {
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

  it.each(['garmin', 'whoop', '%00', 'constructor'])('is not there for %s', async (provider) => {
    await request(api.url).get(`/oauth/${provider}/callback?state=x&code=x`).expect(404);
  });

  it('says that our database is away, and does not use the state up', async () => {
    const { start, ask } = await someone();
    const back = await wayBack(await start('strava'), { athlete_id: await newVendorAthlete() });
    postgres.cut();
    const answer = await request(api.url).get(back);
    postgres.heal();
    expect(answer.status).toBe(503);
    expect(answer.text).toContain('load this page again');
    expect(Number(answer.headers['retry-after'])).toBeGreaterThan(0);
    await eventually('connected', async () => (await request(api.url).get(back)).status === 200);
    expect((await ask('get')).body.items).toHaveLength(1);
  });

  it('answers within five seconds when the vendor never does', async () => {
    const { start } = await someone();
    const back = await wayBack(await start('strava'), { athlete_id: await newVendorAthlete() });
    await simulator.fault('strava', 'token', 'timeout', { count: 1 });
    const startedAt = performance.now();
    const answer = await request(api.url).get(back).expect(502);
    expect(performance.now() - startedAt).toBeLessThan(5_000);
    expect(answer.text).toContain('Strava does not answer');
  });

  it('leaves no secret in the log', async () => {
    const { start } = await someone();
    const back = await wayBack(await start('strava'), { athlete_id: await newVendorAthlete() });
    await simulator.fault('strava', 'token', 'malformed', { count: 1 });
    await request(api.url).get(back).expect(502);
    await api.line((line) => line.msg === 'a code could not be exchanged');
    const log = JSON.stringify(api.lines);
    const query = new URLSearchParams(back.slice(back.indexOf('?')));
    for (const secret of [query.get('state'), query.get('code'), CLIENT.secret])
      expect(log).not.toContain(secret);
  });
});

describe('the page at the end', () => {
  let browser: Browser;
  beforeAll(async () => {
    mkdirSync(SCREENSHOTS, { recursive: true });
    browser = await chromium.launch({
      executablePath: process.env.CHROMIUM_PATH,
      args: ['--no-sandbox', '--disable-gpu', '--disable-quic', '--disable-background-networking'],
    });
  });
  afterAll(() => browser.close());

  const ends: ReadonlyArray<readonly [string, Record<string, string>, string]> = [
    ['connected', {}, 'Strava is connected'],
    ['missing', { scope_granted: 'activity:read' }, 'Strava needs more permission'],
    ['denied', { decision: 'deny' }, 'Strava was not connected'],
    ['stale', { stale: 'yes' }, 'This link does not work any more'],
  ];
  it.each(ends)(
    'tells a person that it is %s, on any screen, in its own style alone',
    async (name, choice, heading) => {
      for (const [size, width, colorScheme] of [
        ['wide', 1280, 'light'],
        ['narrow', 360, 'dark'],
      ] as const) {
        const { start } = await someone();
        const back = choice.stale
          ? '/oauth/strava/callback'
          : await wayBack(await start('strava'), { athlete_id: await newVendorAthlete(), ...choice });
        const page = await browser.newPage({ viewport: { width, height: 720 }, colorScheme });
        const problems: string[] = [];
        page.on('console', (message) => message.type() === 'error' && problems.push(message.text()));
        await page.goto(api.url + back);
        expect(await page.locator('h1').textContent()).toBe(heading);
        expect(await page.title()).toBe(heading);
        // Styled, and not wider than the screen.
        const seen = await page.evaluate(
          `({ radius: getComputedStyle(document.querySelector('main')).borderRadius,
            overflow: document.documentElement.scrollWidth > innerWidth })`,
        );
        expect(seen).toEqual({ radius: '18px', overflow: false });
        // Of an answer that is an error the browser itself says so on the console.
        expect(problems.filter((text) => !/status of 4\d\d/.test(text))).toEqual([]);
        await page.screenshot({ path: `${SCREENSHOTS}/callback-${name}-${size}.png` });
        await page.close();
      }
    },
  );
});
