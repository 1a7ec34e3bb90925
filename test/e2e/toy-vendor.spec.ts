import { randomUUID } from 'node:crypto';
import { afterAll, beforeAll, describe, expect, it, jest } from '@jest/globals';
import { type Pool } from 'pg';
import { testEnvironment, tokenFor, type TestEnvironment } from '../harness/environment.js';
import { eventually } from '../harness/eventually.js';
import { freePort } from '../harness/free-port.js';
import { NatsServer } from '../harness/nats-server.js';
import { ProductProcess } from '../harness/process.js';
import { queryPool } from '../harness/query-pool.js';
import { type ToyNight, ToyVendor } from '../harness/toy-vendor.js';
import { WorkedExample } from '../harness/worked-example.js';

// Some waits of these tests are longer than the usual 90 s of a test.
jest.setTimeout(180_000);

const PAGE = 'docs/how-to-add-a-vendor.md';
const DAY_MS = 86_400_000;
const PATIENCE_MS = 120_000;

describe('docs/how-to-add-a-vendor.md', () => {
  let example: WorkedExample;
  let vendor: ToyVendor;
  let nats: NatsServer;
  let environment: TestEnvironment;
  let pool: Pool;
  let api: ProductProcess;
  let worker: ProductProcess;
  let followed: string[];

  beforeAll(async () => {
    example = WorkedExample.copy();
    followed = example.follow(PAGE);
    example.run('bin/build.mjs');
    vendor = await ToyVendor.start();
    nats = await NatsServer.start();
    const port = String(await freePort());
    environment = await testEnvironment({
      TIME_SCALE: '90',
      NATS_URL: nats.url,
      PORT: port,
      PUBLIC_URL: `http://127.0.0.1:${port}`,
      ...vendor.env,
    });
    example.runWith(environment.env, 'dist/libs/platform/src/database/migrate.main.js', 'up');
    pool = queryPool(environment.env.DATABASE_URL);
    api = await ProductProcess.start('api', environment.env, example.root);
    worker = await ProductProcess.start('worker', environment.env, example.root);
  }, 400_000);
  afterAll(async () => {
    await Promise.all([api?.stop(), worker?.stop()]);
    vendor?.stop();
    await pool?.end();
    await nats?.stop();
    await environment?.release();
    example.remove();
  });

  const athlete = randomUUID();
  const call = async <Body>(method: string, path: string, body?: object) => {
    const headers = {
      authorization: `Bearer ${await tokenFor(athlete)}`,
      accept: 'application/json',
      ...(body && { 'content-type': 'application/json' }),
    };
    const answer = await fetch(new URL(path, api.url), {
      method,
      headers,
      body: body && JSON.stringify(body),
    });
    const text = await answer.text();
    return { status: answer.status, body: (text ? JSON.parse(text) : undefined) as Body };
  };
  // Polls read the rows, because the api limits requests.
  const storedNights = async () => {
    const { rows } = await pool.query<{ day: string }>(
      "select to_char(date, 'YYYY-MM-DD') as day from sleep_data where user_id = $1",
      [athlete],
    );
    return rows.map((row) => row.day);
  };
  /** Waits until we have that night of the vendor, and compares it in the API. */
  const arrives = async ({ day, minutes, score }: ToyNight) => {
    await eventually(`the night of ${day}`, async () => (await storedNights()).includes(day), PATIENCE_MS);
    const { body } = await call<{ items: object[] }>('GET', `/v1/sleep?from=${day}&to=${day}`);
    const night = { date: day, vendor: 'dozy', duration_minutes: minutes, quality_score: score };
    expect(body.items).toEqual([expect.objectContaining(night)]);
  };
  const sleeps = (id: string, daysAgo: number, minutes: number): ToyNight => {
    const now = Date.now();
    const day = new Date(now - daysAgo * DAY_MS).toISOString().slice(0, 10);
    const night = { id, day, minutes, score: 71, changed_at: new Date(now).toISOString() };
    vendor.nights.push(night);
    return night;
  };

  it('the page on vendors adds a folder and a migration, and edits the registry only', () => {
    const isNew = (file: string) => /^libs\/vendors\/src\/dozy\/|^migrations\/\d{4}_dozy\./.test(file);
    const edited = followed.filter((file) => !isNew(file));
    expect(followed.filter(isNew)).toHaveLength(5);
    expect(new Set(edited)).toEqual(new Set(['libs/vendors/src/registry.ts']));
  });

  it('a vendor added as the page says is in the API’s document', () => {
    example.run('dist/apps/api/src/openapi.main.js');
    expect(example.read('docs/openapi.json')).toContain('"dozy"');
  });

  it('the console learns of a vendor added as the page says from its session', async () => {
    const { body } = await call<{ vendors: object[] }>('POST', '/v1/session', {
      token: await tokenFor(athlete),
    });
    expect(body.vendors).toContainEqual({
      provider: 'dozy',
      title: 'Dozy',
      records: ['sleep'],
      has_history: true,
    });
  });

  it('an athlete connects a vendor added as the page says, and the nights from before are in the API', async () => {
    const night = sleeps('night-1', 3, 411);
    const start = await call<{ authorize_url: string }>('POST', '/v1/connections/dozy', {});
    expect(start.status).toBe(201);
    const page = await fetch(start.body.authorize_url, { redirect: 'manual' });
    const callback = await call<{ confirm: string }>('GET', page.headers.get('location') ?? '');
    const confirmed = await call('POST', '/v1/connections/dozy/confirm', {
      confirm: callback.body.confirm,
    });
    expect([callback.status, confirmed.status]).toEqual([200, 200]);
    expect(confirmed.body).toMatchObject({
      provider: 'dozy',
      status: 'active',
      vendor_athlete_id: vendor.sleeper,
    });
    await arrives(night);
  });

  it('a signed event of a vendor added as the page says brings its night, and a forged one is answered 401', async () => {
    const webhook = `${api.url}/webhooks/dozy`;
    const night = sleeps('night-2', 2, 433);
    expect(await vendor.send(webhook, 'night-2', 'another secret')).toBe(401);
    expect(vendor.seen).not.toContain('GET /v1/nights/night-2');
    expect(await vendor.send(webhook, 'night-2')).toBe(200);
    await arrives(night);
    expect(vendor.seen.filter((route) => route === 'GET /v1/nights/night-2')).toHaveLength(1);
  });

  it('the calls to a vendor added as the page says are charged to its budget', async () => {
    const text = await (await fetch(`${worker.url}/metrics`)).text();
    expect(text).toMatch(/^vendor_budget_limit\{vendor="dozy",bucket="read",window="minute"\} 60$/m);
    expect(text).toMatch(/^vendor_requests_total\{.*vendor="dozy".*endpoint="night".*\} 1$/m);
  });

  it('a disconnection from a vendor added as the page says revokes its grant and deletes its nights', async () => {
    const { status } = await call('DELETE', '/v1/connections/dozy');
    expect(status).toBe(202);
    await eventually('the grant is revoked', () => !vendor.isGranted, PATIENCE_MS);
    await eventually('its nights are deleted', async () => (await storedNights()).length === 0, PATIENCE_MS);
  });
});
