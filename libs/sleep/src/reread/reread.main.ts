import 'reflect-metadata';
import { NestFactory } from '@nestjs/core';
import {
  connectNatsAtStart,
  CORE_KEPT_MS,
  createToolLogger,
  Database,
  DatabaseModule,
  HealthModule,
  oldestStoredMs,
  SurroundingsModule,
} from '#platform';
import { loadProductConfig } from '#vendors';
import { SleepStore } from '../normalise/sleep-store.js';
import { emptySummary, Reread, type RereadSummary } from './reread.js';
import { startOf } from './reread-options.js';

// Only these variables matter here; the others just have to be well-formed.
const { DATABASE_URL, DATABASE_DIRECT_URL, NATS_URL, NATS_CREDS, DLQ_RETENTION_DAYS, START_WAIT_SECONDS } =
  process.env;
const unused = {
  REDIS_URL: 'redis://unused',
  JWT_SECRET: 'unused'.repeat(6),
  ENCRYPTION_KEYS: `1:${Buffer.alloc(32, 1).toString('base64')}`,
};
const LIMITS = { applicationName: 'pacekeeper-reread', poolSize: 1, statementTimeoutMs: 30_000 };

const code = await main(process.argv.slice(2)).catch((error: unknown) => {
  console.error(`reread: ${messageOf(error)}`);
  return 1;
});
// With `process.exitCode` the process would wait for open connections, and a frozen server never closes its side.
process.exit(code);

async function main(args: string[]): Promise<number> {
  const from = startOf(args);
  if (from.getTime() < Date.now() - CORE_KEPT_MS)
    console.error(`reread: the stream keeps ${CORE_KEPT_MS / 86_400_000} days, so older events are missing`);
  const servers = { DATABASE_URL, DATABASE_DIRECT_URL, NATS_URL, NATS_CREDS };
  const config = loadProductConfig({ ...unused, ...servers, DLQ_RETENTION_DAYS, START_WAIT_SECONDS });
  const logger = createToolLogger('reread');
  const imports = [SurroundingsModule.with(config, logger), HealthModule, DatabaseModule.with(LIMITS, [])];
  const app = await NestFactory.createApplicationContext(
    { module: class RereadEvents {}, imports },
    { logger: false, abortOnError: false },
  );
  // The worker's module is not used: it would change the streams to the definition of this environment.
  const connection = await connectNatsAtStart(config, logger, 'pacekeeper-reread');
  const summary = emptySummary();
  try {
    await new Reread(connection, new SleepStore(app.get(Database)), logger, oldestStoredMs(config.nats)).run(
      from,
      summary,
    );
  } catch (error) {
    console.error(sentence(from, summary));
    const since = summary.upTo ?? from;
    throw new Error(`ended early: ${messageOf(error)}; go on with --from ${since.toISOString()}`, {
      cause: error,
    });
  }
  console.log(sentence(from, summary));
  await connection.close();
  await app.close();
  return summary.failed > 0 ? 1 : 0;
}

function sentence(from: Date, { read, restored, skipped, failed }: RereadSummary): string {
  const also = [
    ...(skipped > 0 ? [`${skipped} malformed or too old`] : []),
    ...(failed > 0 ? [`${failed} refused by the database`] : []),
  ];
  return [`${read} events read since ${from.toISOString()}`, `${restored} nights restored`, ...also].join(
    ', ',
  );
}

function messageOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}
