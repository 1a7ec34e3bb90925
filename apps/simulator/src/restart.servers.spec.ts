// This test needs a build, because it starts the compiled simulator as a process.
import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import http from 'node:http';
import { type AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { createInterface } from 'node:readline';
import { afterAll, afterEach, beforeAll, beforeEach, expect, it } from '@jest/globals';
import { eventually } from '../../../test/harness/eventually.js';

const MAIN = path.resolve('dist/apps/simulator/src/main.js');

let folder: string;
let stateFile: string;
let timeScale: number;
let child: ChildProcess | undefined;
let base: string;
let app: http.Server | undefined;

beforeEach(() => {
  timeScale = 1;
});
beforeAll(() => {
  folder = mkdtempSync(path.join(tmpdir(), 'simulator-restart-'));
});
afterAll(() => rmSync(folder, { recursive: true }));
afterEach(async () => {
  await end('SIGKILL');
  app?.close();
});

function launch(): ChildProcess {
  const env = {
    PATH: process.env.PATH,
    SIMULATOR_PORT: '0',
    SIMULATOR_STATE: stateFile,
    TIME_SCALE: String(timeScale),
  };
  return (child = spawn(process.execPath, [MAIN], { env, stdio: ['ignore', 'pipe', 'pipe'] }));
}

async function start(): Promise<void> {
  const [line] = (await once(createInterface(launch().stdout!), 'line')) as [string];
  base = line.replace('simulator ', '');
}

async function end(signal: NodeJS.Signals): Promise<number | null> {
  if (!child || child.exitCode !== null || child.signalCode !== null) return null;
  const ended = once(child, 'exit');
  child.kill(signal);
  return ((await ended) as [number | null])[0];
}

type Json = Record<string, unknown>;

async function call(method: string, at: string, body?: Json, token?: string) {
  const headers = {
    ...(body && { 'content-type': 'application/json' }),
    ...(token && { authorization: `Bearer ${token}` }),
  };
  const response = await fetch(base + at, { method, headers, body: body && JSON.stringify(body) });
  const text = await response.text();
  return { status: response.status, text, body: (text ? JSON.parse(text) : {}) as Json };
}

const CLIENT = { client_id: '4711', client_secret: 's' };

async function connect(): Promise<{ id: string; access: string; refresh: string }> {
  const { body } = await call('POST', '/__sim/athletes', { provider: 'strava', activities: 300, seed: 3 });
  const fields = { ...CLIENT, grant_type: 'authorization_code', code: body.code };
  const { body: tokens } = await call('POST', '/oauth/token', fields);
  return {
    id: body.id as string,
    access: tokens.access_token as string,
    refresh: tokens.refresh_token as string,
  };
}

/** Adds an athlete and waits until the state file contains the id. The file then contains all earlier changes too. */
async function untilSaved(): Promise<void> {
  const { body } = await call('POST', '/__sim/athletes', { provider: 'oura', nights: 1 });
  const last = JSON.stringify(body.id);
  await eventually('it is saved', () => readFileSync(stateFile, 'utf8').includes(last));
}

it.each(['SIGTERM', 'SIGKILL'] as const)(
  'a simulator restarted after %s answers the same bytes, keeps its tokens and sends events',
  async (signal) => {
    const events: Json[] = [];
    app = http.createServer((request, response) => {
      const challenge = new URL(request.url!, 'http://app').searchParams.get('hub.challenge');
      void request.toArray().then((chunks: Buffer[]) => {
        if (request.method === 'POST') events.push(JSON.parse(Buffer.concat(chunks).toString()) as Json);
        response.end(JSON.stringify({ 'hub.challenge': challenge }));
      });
    });
    await new Promise<void>((resolve) => app!.listen(0, '127.0.0.1', resolve));
    const callback_url = `http://127.0.0.1:${(app.address() as AddressInfo).port}/hook`;

    stateFile = path.join(folder, `${signal}.json`);
    await start();
    const { id, access, refresh } = await connect();
    const subscription = { ...CLIENT, callback_url, verify_token: 'vt' };
    expect((await call('POST', '/api/v3/push_subscriptions', subscription)).status).toBe(201);
    const made = await call('POST', '/__sim/activities', { athlete_id: id, repetitions: 5 });
    const list = '/api/v3/athlete/activities?per_page=200';
    const [, edited, deleted] = (
      JSON.parse((await call('GET', list, undefined, access)).text) as { id: number }[]
    ).map((activity) => String(activity.id));
    await call('PATCH', `/__sim/activities/${edited!}`, { name: 'Edited' });
    expect((await call('DELETE', `/__sim/activities/${deleted!}`)).status).toBe(200);
    const paths = [
      '/api/v3/athlete',
      list,
      `${list}&page=2`,
      `/api/v3/activities/${edited!}`,
      `/api/v3/activities/${String(made.body.id)}/streams?keys=time,heartrate,latlng`,
    ];
    const read = () => Promise.all(paths.map(async (at) => (await call('GET', at, undefined, access)).text));
    const before = await read();
    if (signal === 'SIGKILL') await untilSaved();
    expect(await end(signal)).toBe(signal === 'SIGTERM' ? 0 : null);

    await start();
    expect(await read()).toEqual(before);
    expect((await call('GET', `/api/v3/activities/${deleted!}`, undefined, access)).status).toBe(404);
    const renewal = { ...CLIENT, grant_type: 'refresh_token', refresh_token: refresh };
    expect((await call('POST', '/oauth/token', renewal)).status).toBe(200);
    const told = events.length;
    await call('PATCH', `/__sim/activities/${edited!}`, { name: 'Edited again' });
    await eventually('it is told', () => events.length > told);
    expect(events.at(-1)).toMatchObject({ aspect_type: 'update', updates: { title: 'Edited again' } });
  },
);

it.each(['SIGTERM', 'SIGKILL'] as const)(
  'a simulator restarted after %s retries the event that it had not delivered',
  async (signal) => {
    const events: string[] = [];
    app = http.createServer((request, response) => {
      void request.toArray().then((chunks: Buffer[]) => {
        events.push(Buffer.concat(chunks).toString());
        response.writeHead(events.length === 1 ? 503 : 200).end();
      });
    });
    await new Promise<void>((resolve) => app!.listen(0, '127.0.0.1', resolve));
    const url = `http://127.0.0.1:${(app.address() as AddressInfo).port}/hook`;

    stateFile = path.join(folder, `owed-${signal}.json`);
    timeScale = 60; // The two minutes between attempts take two seconds.
    await start();
    const { id } = await connect();
    await call('POST', '/__sim/webhooks', { vendor: 'strava', url });
    await call('POST', '/__sim/activities', { athlete_id: id });
    await eventually('a first attempt', () => events.length > 0);
    await untilSaved();
    await end(signal);

    await start();
    await eventually('a second attempt', () => events.length > 1);
    expect(new Set(events).size).toBe(1);
  },
);

it('a simulator leaves a readable state file, even if it is killed at any moment', async () => {
  stateFile = path.join(folder, 'killed.json');
  for (let round = 0; round < 5; round++) {
    await start();
    const { id } = await connect();
    // From here on the file has the athlete. The kill comes at any moment of a later save, and must not lose the athlete.
    await untilSaved();
    const until = Date.now() + 150 + 40 * round;
    while (Date.now() < until) await call('POST', '/__sim/activities', { athlete_id: id });
    await end('SIGKILL');
  }
  await start();
  const { body } = await call('GET', '/__sim/overview');
  const athletes = body.athletes as Array<{ provider: string }>;
  expect(athletes.filter(({ provider }) => provider === 'strava')).toHaveLength(5);
});

it('a simulator with a damaged state file prints the reason in one line and exits with 1', async () => {
  stateFile = path.join(folder, 'spoilt.json');
  await start();
  await connect();
  await end('SIGTERM');
  const whole = readFileSync(stateFile, 'utf8');
  for (const spoilt of ['', 'hello', whole.slice(0, -100), whole.replace('"version":1', '"version":2')]) {
    writeFileSync(stateFile, spoilt);
    let said = '';
    launch().stderr!.on('data', (chunk: Buffer) => (said += chunk.toString()));
    const [code] = (await once(child!, 'close')) as [number];
    expect(code).toBe(1);
    expect(said).toMatch(/^simulator: SIMULATOR_STATE .+ is [^\n]+\n$/);
    expect(readFileSync(stateFile, 'utf8')).toBe(spoilt);
  }
});
