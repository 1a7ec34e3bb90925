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
import { processorSeconds, report, residentMegabytes, roundsOr, startChild, type Child } from './harness.js';
import { compare, figure } from './results.js';

// Measures the cost of the platform: compares a trivial authenticated GET of the api with bare Fastify. The two are measured in turn.
const ROUNDS = roundsOr(7);
const SECONDS = 3;
// The flag of `npm run start:api`.
const FLAGS = ['--max-semi-space-size=8'];
// V8 collects its garbage 8 to 15 s after a start. Then the process has 125 MB instead of 150 MB.
const IDLE_MS = 20_000;
// Each athlete may make 600 requests a minute, so the load comes from many athletes, as in production.
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
// The warm-up verifies each token and creates each athlete's row, one at a time, as in production.
for (const each of headers)
  await fetch(`${api.url}/v1/me`, { headers: each }).then((answer) => answer.arrayBuffer());
await load(api);
await load(bare);
for (let round = 0; round < ROUNDS; round += 1) rounds.push({ bare: await load(bare), api: await load(api) });
await Promise.all([api.stop(), bare.stop()]);

const starts = await startTwice();
const each = (which: 'bare' | 'api', what: keyof Load) => rounds.map((round) => round[which][what]);
const against = (what: keyof Load) => ({
  peer: 'bare Fastify',
  ours: each('api', what),
  theirs: each('bare', what),
});

await report({
  name: 'platform',
  peers: ['fastify'],
  findings: [
    compare({
      what: 'trivial authenticated GET',
      ...against('perSecond'),
      unit: '/s',
      goal: { atLeast: 0.4 },
    }),
    compare({ what: 'processor time of it, server only', ...against('microseconds'), unit: 'µs' }),
    figure({
      what: 'idle RSS of the api',
      values: [idleMegabytes],
      unit: 'MB',
      goal: { atMost: 150 },
    }),
    figure({ what: 'first npm start', values: [starts.first], unit: 's' }),
    figure({ what: 'second npm start', values: [starts.second], unit: 's', goal: { atMost: 15 } }),
  ],
  raw: { rounds, idleMegabytes, starts },
});

interface Load {
  readonly perSecond: number;
  /** The server's processor time for each request. If other programs use the machine, this time varies less than the rate does. */
  readonly microseconds: number;
}

/** Throws unless every request is answered with 200. */
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

/** Measures the first `npm start` in a folder and the second. `npm start` must use its own servers, so our URLs are not passed on. */
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
