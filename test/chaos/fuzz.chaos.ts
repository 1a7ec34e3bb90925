import { NatsServer } from '../harness/nats-server.js';
import { PostgresServer } from '../harness/postgres-server.js';
import { World } from '../harness/world.js';
import { fuzz } from './fuzz/run.js';
import { Random } from './random.js';
import { keepResults, MACHINE } from './results.js';
import { Account } from './week/accounts.js';
import { eventually } from '../harness/eventually.js';
import { INGEST_KEY } from './week/stack.js';

// npm run chaos fuzz: CHAOS_REQUESTS random requests to each operation of docs/openapi.json and CHAOS_MESSAGES random messages to each consumer
// of NATS, after the kept corpus. Each answer must come within 5 s and be documented, no process may end, and no message may block another.
const SEED = Number(process.env.CHAOS_SEED ?? 1);
const OF_EACH = Number(process.env.CHAOS_REQUESTS ?? 200);
const MESSAGES = Number(process.env.CHAOS_MESSAGES ?? 2_000);
const IMPORTED_MS = 120_000;

const [postgres, nats] = await Promise.all([PostgresServer.start(), NatsServer.start()]);
const world = await World.start({
  databaseUrl: postgres.url,
  env: { NATS_URL: nats.url, INGEST_API_KEYS: INGEST_KEY },
});
try {
  const account = await Account.create(world, '0d1f2a3b-0000-4000-8000-000000000001', 'strava');
  await account.connect();
  const imported = 'select id from import_jobs where finished_at is not null';
  await eventually('an import', async () => (await world.rows(imported)).length > 0, IMPORTED_MS);
  const ids = (
    await world.rows<{ id: string }>(
      `select id::text from activity union all select id::text from import_jobs
       union all select job_id::text from jobs union all select id::text from athlete`,
    )
  ).map(({ id }) => id);
  const random = new Random(SEED);
  const options = { world, natsUrl: nats.url, ingestKey: INGEST_KEY, random, ids };
  const { found, ...result } = await fuzz({ ...options, ofEach: OF_EACH, messages: MESSAGES });
  const ended = [world.api, ...world.workers].filter(({ hasEnded }) => hasEnded).length;
  const unexpected = await unexpectedErrors();
  for (const { sent, problem } of found) console.log(problem, JSON.stringify(sent).slice(0, 500));
  console.table({ seed: SEED, ...result, byStatus: JSON.stringify(result.byStatus), messages: MESSAGES });
  console.table({ 'answers that break a promise': found.length, 'processes that ended': ended, unexpected });
  keepResults('fuzz', {
    machine: MACHINE,
    seed: SEED,
    ...result,
    messages: MESSAGES,
    found,
    ended,
    unexpected,
  });
  if (found.length + ended + unexpected > 0) process.exitCode = 1;
} finally {
  await world.stop();
  await Promise.all([postgres.stop(), nats.stop()]);
}

/** Errors outside of requests, in all processes. */
async function unexpectedErrors(): Promise<number> {
  const texts = await Promise.all(
    [world.api, ...world.workers].map(async ({ url }) => (await fetch(`${url}/metrics`)).text()),
  );
  const counts = texts.flatMap((text) => [...text.matchAll(/^unexpected_errors_total\{.*\} (\d+)/gm)]);
  return counts.reduce((sum, [, count]) => sum + Number(count), 0);
}
