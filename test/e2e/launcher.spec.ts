import { afterAll, afterEach, beforeAll, describe, expect, it, jest } from '@jest/globals';
import { execFileSync } from 'node:child_process';
import {
  existsSync,
  lstatSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  readlinkSync,
  rmSync,
  statSync,
  writeFileSync,
} from 'node:fs';
import { createServer } from 'node:net';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import { Redis } from 'ioredis';
import { connectNats } from '../../libs/platform/src/nats/connect.js';
import { ready, removeRunFolder, startLauncher, type Started } from '../harness/launched.js';

// The launcher is plain JavaScript, so the function that these tests call is declared here.
interface Noted {
  name: string;
  pid: number;
  born: string | null;
}
const launcherFile = (name: string) => new URL(`../../bin/launcher/${name}.mjs`, import.meta.url).href;
const { isAlive } = (await import(launcherFile('processes'))) as { isAlive(process: Noted): boolean };

// The longest wait for one step. A wait lasts this long only if the test fails.
const startedMs = 90_000;
jest.setTimeout(3 * startedMs);
let folder: string;
const start = (extra: NodeJS.ProcessEnv = {}) => startLauncher(folder, { NO_DEMO: '1', ...extra });
let current: Started | undefined;
let first: RunFile | undefined;

// All tests use one folder, so that the database is created once. Only the tests' user may enter this folder. If that user is root,
// Postgres runs as another user, and its database is in /var/lib/pacekeeper.
beforeAll(() => {
  folder = mkdtempSync(path.join(tmpdir(), 'pacekeeper-start-'));
});
afterEach(async () => {
  current?.process.kill('SIGTERM');
  await current?.ended;
});
afterAll(() => removeRunFolder(folder));

describe('npm start', () => {
  // A start takes seconds. So each test checks several facts with one run.
  it('npm start writes run.json, refuses a second start in its folder, restarts a killed app, and ends when a server is killed', async () => {
    current = await ready(start());
    const run = runFile();
    const hasConsole = (await fetch(`${run.api}/console`)).ok;
    expect(Object.keys(run)).toEqual([
      ...[
        'api',
        'worker',
        'simulator',
        ...(hasConsole ? ['console'] : []),
        'database_url',
        'redis_url',
        'nats_url',
      ],
      ...['athlete_id', 'other_athlete_id', 'tokens', 'ingest_key', 'service_key', 'pid'],
    ]);
    expect(Object.keys(run.tokens)).toEqual(['athlete', 'other', 'admin']);
    expect(run.pid).toBe(current.process.pid);
    expect(statSync(path.join(folder, 'run.json')).mode & 0o777).toBe(0o600);
    expect(current.seen().trimEnd().split('\n').at(-1)).toBe(`ready ${run.api}`);
    for (const url of [run.api, run.worker]) expect((await fetch(`${url}/health/ready`)).status).toBe(200);

    expect(filesOpenToOthers(folder)).toEqual([]);
    for (const url of [run.api, run.worker, run.simulator])
      await expect(fetch(url.replace('127.0.0.1', '127.0.0.2'))).rejects.toThrow('fetch failed');
    await expect(pingWithout(run.redis_url)).rejects.toThrow('NOAUTH');
    await expect(connectNats(withoutLogin(run.nats_url), 'test')).rejects.toThrow(/authorization violation/i);

    const second = start();
    expect(await second.ended).toBe(1);
    expect(second.seen()).toContain(`already running here, as process ${run.pid}`);

    first = run;
    const { pid } = child('pacekeeper');
    process.kill(pid, 'SIGKILL');
    await eventually(() => current!.seen().includes('pacekeeper was started again'));
    expect(current.seen()).toContain('pacekeeper ended unexpectedly and is started again in 1 s');
    expect(child('pacekeeper').pid).not.toBe(pid);
    expect((await fetch(`${run.api}/health/ready`)).status).toBe(200);

    process.kill(child('redis').pid, 'SIGKILL');
    await endedWith(1);
    expect(current.seen()).toContain('redis ended unexpectedly');
  });

  it('a second npm start keeps ports, secrets and the database, also if the database is in the run’s folder, and all its processes end after a SIGKILL', async () => {
    const database = path.join(folder, 'postgres');
    const isElsewhere = lstatSync(database).isSymbolicLink(); // as root
    if (isElsewhere) {
      const elsewhere = readlinkSync(database);
      rmSync(database);
      execFileSync('mv', [elsewhere, database]);
    }
    current = await ready(start());
    expect(lstatSync(database).isSymbolicLink()).toBe(isElsewhere);
    const { tokens, pid: _pid, ...again } = runFile();
    expect(first).toMatchObject(again);
    const operator = { authorization: `Bearer ${tokens.admin}` };
    const list = await fetch(`${again.api}/admin/keys`, { headers: operator });
    const { items } = (await list.json()) as { items: ReadonlyArray<{ id: string; name: string }> };
    expect(items.map(({ name }) => name)).toEqual(['npm start']);
    expect(await statusOfKey(again)).toBe(200);
    await fetch(`${again.api}/admin/keys/${items[0]?.id}`, { method: 'DELETE', headers: operator });
    expect(await statusOfKey(again)).toBe(401);

    const { processes } = noted();
    current.process.kill('SIGKILL');
    await current.ended;
    await eventually(() => processes.every((one) => !isAlive(one)));
    await eventually(() => !existsSync(path.join(folder, 'run.json')));
  });

  it('npm start ends the processes of a killed launcher and keeper, uses the next port when PORT is taken, and exits with 0 after SIGTERM', async () => {
    current = await ready(start());
    const { processes, keeper } = noted();
    process.kill(keeper.pid, 'SIGKILL');
    current.process.kill('SIGKILL');
    await current.ended;
    expect(processes.every(isAlive)).toBe(true);

    const server = createServer();
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
    const { port } = server.address() as { port: number };
    current = await ready(start({ PORT: String(port) }));
    expect(processes.some(isAlive)).toBe(false);
    const api = new URL(runFile().api);
    expect(api.hostname).toBe('127.0.0.1');
    expect(Number(api.port)).toBeGreaterThan(port);
    expect(current.seen()).toContain(`port ${port} is taken`);
    // The run before has revoked its key.
    expect(runFile().service_key).not.toBe(first?.service_key);
    expect(await statusOfKey(runFile())).toBe(200);
    server.close();

    current.process.kill('SIGTERM');
    await endedWith(0);
    const lines = current.seen().trimEnd().split('\n');
    expect(lines.slice(-2)).toEqual(['stopping …', expect.stringMatching(/^stopped; the data stays in /)]);
    // Without a terminal each step prints one line.
    expect(lines.filter((line) => line.startsWith('starting PostgreSQL, Redis, NATS'))).toHaveLength(1);
  });

  it('npm start refuses an impossible PORT or a damaged secrets.json before it starts a server, and does not change secrets.json', async () => {
    current = start({ PORT: '46000000' });
    expect(await current.ended).toBe(1);
    expect(current.seen()).toBe('PORT must be a port from 1 to 65535, not "46000000".\n');

    const file = path.join(folder, 'secrets.json');
    const whole = readFileSync(file, 'utf8');
    const half = whole.slice(0, whole.length / 2);
    writeFileSync(file, half);
    current = start();
    expect(await current.ended).toBe(1);
    expect(current.seen()).toMatch(/^\S+secrets\.json is damaged .*\n$/);
    expect(readFileSync(file, 'utf8')).toBe(half);
    writeFileSync(file, whole);
  });

  it('npm start ends the servers and shows the end of the app’s log if an app fails to start', async () => {
    current = start({ ENCRYPTION_KEYS: 'nonsense' });
    await endedWith(1);
    expect(current.seen()).toContain('pacekeeper ended unexpectedly');
    expect(current.seen()).toContain('ENCRYPTION_KEYS');
    expect(current.seen()).not.toContain('nonsense');
  });
});

async function endedWith(code: number): Promise<void> {
  const { processes } = noted();
  expect(await current!.ended).toBe(code);
  expect(processes.filter(isAlive)).toEqual([]);
  expect(noted().processes).toEqual([]);
  expect(existsSync(path.join(folder, 'run.json'))).toBe(false);
}

function noted(): { processes: Noted[]; keeper: Noted } {
  const { children, keeper } = readJson('children.json') as { children: Noted[]; keeper: Noted };
  return { processes: children, keeper };
}

const child = (name: string) => noted().processes.find((one) => one.name === name)!;

const withoutLogin = (url: string) => url.replace(/\/\/.*@/, '//');

async function pingWithout(url: string): Promise<string> {
  const redis = new Redis(withoutLogin(url), { retryStrategy: () => null });
  redis.on('error', () => undefined); // the command below rejects with the same error
  try {
    return await redis.ping();
  } finally {
    redis.disconnect();
  }
}

/** The files that other users may read by the file's own mode. */
function filesOpenToOthers(below: string): string[] {
  return readdirSync(below, { withFileTypes: true }).flatMap((entry) => {
    const file = path.join(below, entry.name);
    if (entry.isDirectory()) return filesOpenToOthers(file);
    return entry.isFile() && (statSync(file).mode & 0o077) !== 0 ? [file] : [];
  });
}

interface RunFile {
  api: string;
  worker: string;
  simulator: string;
  redis_url: string;
  nats_url: string;
  service_key: string;
  tokens: Record<string, string>;
  pid: number;
}
const runFile = () => readJson('run.json') as RunFile;

async function statusOfKey({ api, service_key }: Pick<RunFile, 'api' | 'service_key'>): Promise<number> {
  const headers = { authorization: `Bearer ${service_key}` };
  return (await fetch(`${api}/v1/athletes`, { headers })).status;
}

const readJson = (name: string) => JSON.parse(readFileSync(path.join(folder, name), 'utf8')) as unknown;

async function eventually(isTrue: () => boolean): Promise<void> {
  const deadline = Date.now() + startedMs;
  while (!isTrue()) {
    if (Date.now() > deadline) throw new Error(`not within ${startedMs / 1000} s: ${isTrue.toString()}`);
    await pause(20);
  }
}
