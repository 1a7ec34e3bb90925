import type pg from 'pg';
import { readFileSync } from 'node:fs';
import { type RunClaim, Runs } from '#processing';
import { type Database, type Sql, type Statement } from '#platform';
import { openPool } from '../test/harness/test-database.js';
import { type Finding, median } from './results.js';
import { success } from './jobs-rates.js';
import { clear, enqueueAll, newSample } from './jobs-sample.js';

const BATCH = 100;
const BATCHES = 60;
const ROUNDS = 9;
const OWNER = 'worker';
const FENCE = /\n\s+and jobs\.run_id = ended\.run_id\n\s+and jobs\.lease_owner = \$1\n/;

/** Compares the completion statement with and without its fence. The two take turns over the batches of a round. */
export async function fencingFindings(
  databaseUrl: string,
  admin: pg.Client,
): Promise<{ findings: Finding[]; raw: unknown }> {
  const { database, close } = await openPool(databaseUrl, [], { poolSize: 1 });
  const sample = await newSample(admin, BATCH * BATCHES);
  const fenced = new Runs(database);
  const unfenced = new Runs(without(FENCE, database));
  const ratios: number[] = [];
  for (let round = 0; round <= ROUNDS; round += 1) {
    await clear(admin);
    await enqueueAll(database, sample);
    const spent = new Map([
      [fenced, 0],
      [unfenced, 0],
    ]);
    for (let batch = 0; batch < BATCHES; batch += 1) {
      const claims = await fenced.claim(OWNER, BATCH, 30_000);
      await fenced.start(OWNER, claims);
      const runs = (batch + round) % 2 === 0 ? fenced : unfenced;
      spent.set(runs, (spent.get(runs) ?? 0) + (await completeMs(runs, claims)));
    }
    if (round > 0) ratios.push((spent.get(fenced) ?? 0) / (spent.get(unfenced) ?? 1));
  }
  await close();
  const cost = 100 * (median(ratios) - 1);
  const findings = [
    {
      what: 'what the fence costs a completion',
      measured: `${cost.toFixed(1)} %`,
      goal: '≤ 5 %',
      met: cost <= 5,
    },
  ];
  return { findings, raw: ratios };
}

async function completeMs(runs: Runs, claims: readonly RunClaim[]): Promise<number> {
  const begunAt = performance.now();
  const written = await runs.complete(OWNER, claims.map(success));
  if (written.size !== BATCH) throw new Error('not all completed');
  return performance.now() - begunAt;
}

/** The database with a completion statement that lacks this part. `$1` stays in use, so that Postgres can infer its type. */
function without(part: RegExp, sql: Sql): Database {
  const text = readFileSync('libs/processing/src/lifecycle/sql/complete.sql', 'utf8');
  if (!part.test(text)) throw new Error('the completion has another fence');
  const bare = {
    name: 'complete without fence',
    text: text.replace(part, '\n    and $1::text is not null\n'),
  };
  const query = (statement: Statement | string, values?: readonly unknown[]) =>
    sql.query(
      typeof statement !== 'string' && statement.name?.startsWith('complete:') ? bare : statement,
      values,
    );
  return { query } as Database;
}
