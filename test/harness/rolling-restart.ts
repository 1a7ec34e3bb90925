import { randomUUID } from 'node:crypto';
import { SteadyLoad, type SentRequest } from './steady-load.js';
import { tokenFor } from './environment.js';
import { eventually } from './eventually.js';
import { ProductProcess } from './process.js';
import { queryPool } from './query-pool.js';

// The load polls every 50 ms and needs much less time. The delay is long because the machine may be busy.
const DELAY_SECONDS = '4';
const INGEST_KEY = 'an-ingest-key-for-rolling-restarts';
// Each athlete may make 600 requests a minute.
const ATHLETES = 40;
const READS = ['/v1/activities', '/v1/me', '/v1/imports', '/v1/sleep?from=2024-01-01&to=2024-01-31'];
// No divisor of the number of replicas, so that all of them get nights.
const NIGHT_EVERY = 9;
const DAY_MS = 86_400_000;
const FIRST_NIGHT_MS = Date.UTC(2024, 0, 1);
const STEADY_REQUESTS = 200;

interface Plan {
  readonly env: Readonly<Record<string, string>>;
  readonly apis: number;
  readonly workers: number;
  readonly perSecond: number;
}

export interface RollingRestart {
  readonly seconds: number;
  readonly failures: readonly string[];
  readonly late: number;
  readonly durationsMs: readonly number[];
  readonly nightsAcknowledged: number;
  readonly nightsStored: number;
  /** The exit codes of the replaced processes. */
  readonly exitCodes: readonly (number | null)[];
  /** For each replaced api, the number of requests that it answered. */
  readonly answered: readonly number[];
}

/**
 * Replaces all processes under load, one after the other, as Kubernetes does with `maxSurge: 1` and `maxUnavailable: 0`: a new process becomes
 * ready, then the old one gets SIGTERM. Eight of nine requests are reads of several athletes; each ninth sends a night, which workers store.
 */
export async function rollingRestart({
  env: given,
  apis,
  workers,
  perSecond,
}: Plan): Promise<RollingRestart> {
  const run = randomUUID();
  const env: Record<string, string> = { ...given, INGEST_API_KEYS: INGEST_KEY };
  const start = {
    api: () => ProductProcess.start('api', { ...env, SHUTDOWN_DELAY_SECONDS: DELAY_SECONDS }),
    worker: () => ProductProcess.start('worker', env),
  };
  const running = {
    api: await Promise.all(Array.from({ length: apis }, start.api)),
    worker: await Promise.all(Array.from({ length: workers }, start.worker)),
  };
  const all = () => [...running.api, ...running.worker];
  const [...old] = running.api;
  const load = new SteadyLoad(running.api, perSecond, await requestsOf(run));
  const exitCodes: Array<number | null> = [];
  try {
    const startedAtMs = performance.now();
    load.start();
    await load.untilAnswered(STEADY_REQUESTS);
    for (const kind of ['api', 'worker'] as const)
      for (const leaving of [...running[kind]]) {
        const fresh = await start[kind]();
        running[kind].push(fresh);
        if (kind === 'api') load.add(fresh);
        exitCodes.push(await leaving.stop());
        running[kind].splice(running[kind].indexOf(leaving), 1);
      }
    await load.untilAnswered(STEADY_REQUESTS);
    await load.end();
    const nightsAcknowledged = load.answers.filter(({ n }) => isNight(n)).length;
    return {
      seconds: (performance.now() - startedAtMs) / 1_000,
      failures: load.failures,
      late: load.late,
      durationsMs: load.answers.map(({ ms }) => ms),
      nightsAcknowledged,
      nightsStored: await storedNights(env.DATABASE_URL ?? '', run, nightsAcknowledged),
      exitCodes,
      answered: old.map((replica) => load.answeredBy(replica)),
    };
  } finally {
    await load.end();
    await Promise.all(all().map((one) => one.stop()));
  }
}

const isNight = (n: number) => n % NIGHT_EVERY === 0;

async function requestsOf(run: string): Promise<(n: number) => SentRequest> {
  const tokens = await Promise.all(
    Array.from({ length: ATHLETES }, (_, athlete) => tokenFor(`${run}-${athlete}`)),
  );
  return (n): SentRequest => {
    const athlete = n % ATHLETES;
    if (!isNight(n))
      return {
        method: 'GET',
        path: READS[n % READS.length] ?? '',
        headers: { authorization: `Bearer ${tokens[athlete]}` },
      };
    const date = new Date(FIRST_NIGHT_MS + Math.floor(n / ATHLETES) * DAY_MS).toISOString().slice(0, 10);
    return {
      method: 'POST',
      path: '/api/v1/ingest/sleep',
      headers: { 'x-api-key': INGEST_KEY, 'content-type': 'application/json' },
      body: JSON.stringify({ userId: `${run}-${athlete}`, date, durationMinutes: 420 }),
    };
  };
}

/** Waits until the workers have stored as many nights as were acknowledged. */
async function storedNights(databaseUrl: string, run: string, expected: number): Promise<number> {
  const pool = queryPool(databaseUrl);
  try {
    const count = async () => {
      const { rows } = await pool.query<{ count: number }>(
        'select count(*)::int as count from sleep_data where user_id like $1',
        [`${run}-%`],
      );
      return rows[0]?.count ?? 0;
    };
    await eventually('the nights are stored', async () => (await count()) >= expected);
    return await count();
  } finally {
    await pool.end();
  }
}
