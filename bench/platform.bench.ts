import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { setTimeout as pause } from 'node:timers/promises';
import autocannon from 'autocannon';
import { SignJWT } from 'jose';
import { migrateUp } from '#platform';
import { median, processorSeconds, report, residentMegabytes, startChild, type Child } from './harness.js';

// What the floor itself costs: a trivial authenticated GET against bare Fastify, both measured in turn in one run.
const ROUNDS = 7;
const SECONDS = 3;
// As `npm run start:api` has it.
const FLAGS = ['--max-semi-space-size=8'];
// At rest is after V8 has swept up what the start left behind, which it does 8 to 15 s later: 125 MB instead of 150.
const IDLE_MS = 20_000;
// Each may ask 600 times a minute, so the load comes from many athletes, as it would.
const ATHLETES = 4_000;
const SECRET = 'a-secret-for-benchmarks-of-at-least-32-characters';

await migrateUp(process.env.DATABASE_URL ?? '');
const api = await startChild(
  'dist/apps/api/src/main.js',
  {
    PORT: '0',
    JWT_SECRET: SECRET,
    ENCRYPTION_KEYS: `1:${Buffer.alloc(32).toString('base64')}`,
  },
  FLAGS,
);
await pause(IDLE_MS);
const idleMegabytes = residentMegabytes(api.process.pid ?? 0);

const bare = await startChild('dist/bench/bare-fastify.js', {}, FLAGS);
const headers = await Promise.all(
  Array.from({ length: ATHLETES }, async (_, n) => ({ authorization: `Bearer ${await token(n)}` })),
);
const rounds: Array<{ bare: Load; api: Load }> = [];
// Each token is verified and each athlete's row made once, one at a time, as it happens in real life; then both are warm.
for (const each of headers)
  await fetch(`${api.url}/v1/me`, { headers: each }).then((answer) => answer.arrayBuffer());
await load(api);
await load(bare);
for (let round = 0; round < ROUNDS; round += 1) rounds.push({ bare: await load(bare), api: await load(api) });
await Promise.all([api.stop(), bare.stop()]);

const starts = await startTwice();
const ratio = median(rounds.map((round) => round.api.perSecond / round.bare.perSecond));
const of = (which: 'bare' | 'api', what: keyof Load) => median(rounds.map((round) => round[which][what]));
const rate = (which: 'bare' | 'api') => `${Math.round(of(which, 'perSecond')).toLocaleString('en')}/s`;
const cost = (which: 'bare' | 'api') => of(which, 'microseconds').toFixed(0);

report(
  'platform',
  [
    {
      what: 'authenticated GET / bare Fastify',
      measured: `${(ratio * 100).toFixed(0)} % (${rate('api')} of ${rate('bare')})`,
      goal: '≥ 40 %',
      met: ratio >= 0.4,
    },
    {
      what: 'processor time of one, server only',
      measured: `${cost('api')} µs (bare ${cost('bare')} µs)`,
      goal: '',
      met: true,
    },
    {
      what: 'idle RSS of the api',
      measured: `${idleMegabytes.toFixed(0)} MB`,
      goal: '< 150 MB',
      met: idleMegabytes < 150,
    },
    {
      what: 'second npm start',
      measured: `${starts.second.toFixed(1)} s (first ${starts.first.toFixed(1)} s)`,
      goal: '< 15 s',
      met: starts.second < 15,
    },
  ],
  { rounds, idleMegabytes, starts },
);

interface Load {
  readonly perSecond: number;
  /** Of the server's processor for each request: steadier than the rate where others use the machine. */
  readonly microseconds: number;
}

/** Every one of them answered 200. */
async function load({ url, process: { pid = 0 } }: Child): Promise<Load> {
  const before = processorSeconds(pid);
  const result = await autocannon({
    url,
    connections: 64,
    duration: SECONDS,
    requests: headers.map((each) => ({ method: 'GET' as const, path: '/v1/me', headers: each })),
  });
  if (result.non2xx > 0 || result.errors > 0)
    throw new Error(
      `not all answered 200: ${JSON.stringify(result.statusCodeStats)}, ${result.errors} failed`,
    );
  const microseconds = ((processorSeconds(pid) - before) * 1e6) / result.requests.total;
  return { perSecond: result.requests.average, microseconds };
}

function token(n: number): Promise<string> {
  return new SignJWT({})
    .setProtectedHeader({ alg: 'HS256' })
    .setSubject(`athlete-${n}`)
    .setExpirationTime('1h')
    .sign(new TextEncoder().encode(SECRET));
}

/** `npm start` in an empty place and again; its own servers, so none of ours may be in the environment. */
async function startTwice(): Promise<{ first: number; second: number }> {
  const local = mkdtempSync(join(tmpdir(), 'pacekeeper-start-'));
  const { DATABASE_URL: _d, REDIS_URL: _r, NATS_URL: _n, ...env } = process.env;
  const start = () => secondsToReady(local, env);
  const seconds = { first: await start(), second: await start() };
  rmSync(local, { recursive: true, force: true });
  return seconds;
}

async function secondsToReady(local: string, env: NodeJS.ProcessEnv): Promise<number> {
  const startedAt = performance.now();
  const launcher = spawn(process.execPath, ['bin/start.mjs', '--local', local], {
    env,
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  const ended = once(launcher, 'exit');
  const ready = new Promise<void>((resolve, reject) => {
    createInterface(launcher.stdout).on('line', (line) => line.startsWith('ready ') && resolve());
    void ended.then(([code]) => reject(new Error(`npm start ended with ${code}`)));
  });
  await ready;
  const seconds = (performance.now() - startedAt) / 1_000;
  launcher.kill('SIGTERM');
  await ended;
  return seconds;
}
