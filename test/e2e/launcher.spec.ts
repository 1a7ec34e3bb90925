import { afterAll, afterEach, beforeAll, describe, expect, it, jest } from '@jest/globals';
import { type ChildProcess, spawn } from 'node:child_process';
import { existsSync, mkdtempSync, readFileSync, statSync } from 'node:fs';
import { createServer } from 'node:net';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';

// The launcher is plain JavaScript: what is used of it is declared here.
interface Noted {
  name: string;
  pid: number;
  born: string | null;
}
const launcherFile = (name: string) => new URL(`../../bin/launcher/${name}.mjs`, import.meta.url).href;
const { isAlive } = (await import(launcherFile('process-identity'))) as { isAlive(process: Noted): boolean };
const { removeRunFolder } = (await import(launcherFile('run-folder'))) as {
  removeRunFolder(folder: string): Promise<void>;
};

interface Started {
  process: ChildProcess;
  /** Both streams, as a person sees them. */
  seen(): string;
  ended: Promise<number | null>;
}

const root = path.resolve(import.meta.dirname, '../..');
// Only a failure takes so long.
const startedMs = 90_000;
jest.setTimeout(3 * startedMs);
let folder: string;
let current: Started | undefined;
let first: RunFile | undefined;

// One folder for all: the database is made once. It is private to us, so as root Postgres has to live elsewhere.
beforeAll(() => {
  folder = mkdtempSync(path.join(tmpdir(), 'pacekeeper-start-'));
});
afterEach(async () => {
  current?.process.kill('SIGTERM');
  await current?.ended;
});
afterAll(() => removeRunFolder(folder));

describe('npm start', () => {
  // Each start takes seconds, so a run that is up serves more than one question.
  it('brings everything up, says where, lets nobody start there a second time; a server that dies ends all', async () => {
    current = await ready(start());
    const run = runFile();
    expect(Object.keys(run)).toEqual([
      ...['api', 'worker', 'simulator', 'console', 'database_url', 'redis_url', 'nats_url'],
      ...['athlete_id', 'other_athlete_id', 'tokens', 'ingest_key', 'pid'],
    ]);
    expect(Object.keys(run.tokens)).toEqual(['athlete', 'other', 'admin']);
    expect(run.pid).toBe(current.process.pid);
    expect(statSync(path.join(folder, 'run.json')).mode & 0o777).toBe(0o600);
    expect(current.seen().trimEnd().split('\n').at(-1)).toBe(`ready ${run.api}`);
    for (const url of [run.api, run.worker]) expect((await fetch(`${url}/health/ready`)).status).toBe(200);

    const second = start();
    expect(await second.ended).toBe(1);
    expect(second.seen()).toContain(`already running here, as process ${run.pid}`);

    first = run;
    process.kill(child('redis').pid, 'SIGKILL');
    await endedWith(1);
    expect(current.seen()).toContain('redis ended unexpectedly');
  });

  it('keeps its ports and secrets the second time; killed outright it leaves nothing behind', async () => {
    current = await ready(start());
    const { tokens: _tokens, pid: _pid, ...again } = runFile();
    expect(first).toMatchObject(again);

    const { processes } = noted();
    current.process.kill('SIGKILL');
    await current.ended;
    await eventually(() => processes.every((one) => !isAlive(one)));
    await eventually(() => !existsSync(path.join(folder, 'run.json')));
  });

  it('ends what a killed launcher and a killed keeper left, moves on from a taken port, and stops', async () => {
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
    server.close();

    current.process.kill('SIGTERM');
    await endedWith(0);
  });

  it('shows the last words of an app that dies during start, and stops the servers', async () => {
    current = start({ ENCRYPTION_KEYS: 'nonsense' });
    await endedWith(1);
    expect(current.seen()).toContain('pacekeeper ended unexpectedly');
    expect(current.seen()).toContain('ENCRYPTION_KEYS');
    expect(current.seen()).not.toContain('nonsense');
  });
});

function start(extra: NodeJS.ProcessEnv = {}): Started {
  const {
    DATABASE_URL: _d,
    REDIS_URL: _r,
    NATS_URL: _n,
    NODE_OPTIONS: _o,
    npm_lifecycle_event: _e,
    ...ours
  } = process.env;
  // Away from the ports of a developer's own `npm start`.
  const ports = { PORT: '13000', WORKER_PORT: '13100', SIMULATOR_PORT: '13200' };
  const child = spawn(process.execPath, ['bin/start.mjs', '--local', folder], {
    cwd: root,
    env: { ...ours, ...ports, NO_DEMO: '1', ...extra },
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  let seen = '';
  for (const stream of [child.stdout, child.stderr])
    stream.setEncoding('utf8').on('data', (text) => (seen += text));
  const ended = new Promise<number | null>((resolve) => child.once('close', resolve));
  return { process: child, seen: () => seen, ended };
}

async function ready(started: Started): Promise<Started> {
  await eventually(() => /^ready /m.test(started.seen()) || started.process.exitCode !== null);
  if (started.process.exitCode !== null) throw new Error(`did not start:\n${started.seen()}`);
  return started;
}

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

interface RunFile {
  api: string;
  worker: string;
  tokens: Record<string, string>;
  pid: number;
}
const runFile = () => readJson('run.json') as RunFile;

const readJson = (name: string) => JSON.parse(readFileSync(path.join(folder, name), 'utf8')) as unknown;

async function eventually(isTrue: () => boolean): Promise<void> {
  const deadline = Date.now() + startedMs;
  while (!isTrue()) {
    if (Date.now() > deadline) throw new Error(`not within ${startedMs / 1000} s: ${isTrue.toString()}`);
    await pause(20);
  }
}
