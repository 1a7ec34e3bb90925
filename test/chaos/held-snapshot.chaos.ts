import { setTimeout as pause } from 'node:timers/promises';
import pg from 'pg';
import { Changes, migrateUp } from '#platform';
import { openPool } from '../harness/test-database.js';

// npm run chaos held-snapshot: a backup or an operator's query keeps a transaction open for minutes (CHAOS_SECONDS) while changes flow.
// Vacuum then cannot remove the rows that the sequencer has taken from the outbox. Prints how many there are, and what it costs.
const SECONDS = Number(process.env.CHAOS_SECONDS ?? 180);
const PER_SECOND = Number(process.env.CHAOS_PER_SECOND ?? 500);
const PART_SECONDS = 30;
// As often as a worker looks for committed changes.
const SEQUENCE_MS = 200;
const COMMIT_EVERY_MS = 20;

const url = process.env.DATABASE_URL ?? '';
await migrateUp(url);
const { database, close } = await openPool(url, [], { statementTimeoutMs: 30_000 });
const changes = new Changes(database);

interface Part {
  readonly 'changes a second': number;
  readonly 'dead rows': number;
  readonly 'outbox MB': number;
  readonly 'sequencer p50 ms': number;
  readonly 'sequencer p99 ms': number;
}

const parts: Record<string, Part> = {};
parts['before'] = await measured();
const holder = new pg.Client({ connectionString: url });
await holder.connect();
await holder.query('begin isolation level repeatable read');
await holder.query('select from change_outbox');
for (let seconds = PART_SECONDS; seconds <= SECONDS; seconds += PART_SECONDS)
  parts[`open for ${seconds} s`] = await measured();
await holder.query('commit');
await holder.end();
await database.query('vacuum change_outbox');
parts['after it, vacuumed'] = await measured();
console.table(parts);
await close();

/** Lets changes flow for a part of the time, and measures each pass of the sequencer that has something to do. */
async function measured(): Promise<Part> {
  const endsAtMs = performance.now() + PART_SECONDS * 1_000;
  const passes: number[] = [];
  let moved = 0;
  const write = async () => {
    while (performance.now() < endsAtMs) {
      await database.query(
        `insert into change_outbox (type, athlete_id, subject_id, data)
         select 'sleep.stored', gen_random_uuid(), n, '{"vendor":"oura"}' from generate_series(1, $1::int) as n`,
        [(PER_SECOND * COMMIT_EVERY_MS) / 1_000],
      );
      await pause(COMMIT_EVERY_MS);
    }
  };
  const sequence = async () => {
    while (performance.now() < endsAtMs) {
      const begunAtMs = performance.now();
      moved += await changes.sequence();
      passes.push(performance.now() - begunAtMs);
      await pause(SEQUENCE_MS);
    }
  };
  await Promise.all([write(), sequence()]);
  const { rows } = await database.query<{ dead: string; bytes: string }>(
    `select n_dead_tup as dead, pg_total_relation_size('change_outbox') as bytes
     from pg_stat_user_tables where relname = 'change_outbox'`,
  );
  passes.sort((one, other) => one - other);
  const at = (share: number) => Number((passes[Math.floor(passes.length * share)] ?? 0).toFixed(1));
  return {
    'changes a second': Math.round(moved / PART_SECONDS),
    'dead rows': Number(rows[0]?.dead),
    'outbox MB': Math.round(Number(rows[0]?.bytes) / 1_000_000),
    'sequencer p50 ms': at(0.5),
    'sequencer p99 ms': at(0.99),
  };
}
