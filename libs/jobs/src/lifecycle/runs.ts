import { Inject, Injectable, Optional } from '@nestjs/common';
import { Database, fenceRejected, loadSql, type Sql, type Statement } from '#platform';
import { type RunStatus } from './job.js';
import { type Claim, type EndedRun, type Ending, type Expired, type Run } from './run.js';
import { RUN_LISTENER, type RunListener } from './run-listener.js';

const claim = loadSql(import.meta.url, './sql/claim.sql');
const start = loadSql(import.meta.url, './sql/start.sql');
const complete = loadSql(import.meta.url, './sql/complete.sql');
const skip = loadSql(import.meta.url, './sql/skip.sql');
const hasEnded = loadSql(import.meta.url, './sql/has-ended.sql');
const renew = loadSql(import.meta.url, './sql/renew.sql');
const release = loadSql(import.meta.url, './sql/release.sql');
const requeueExpired = loadSql(import.meta.url, './sql/requeue-expired.sql');
const giveUpWaiting = loadSql(import.meta.url, './sql/give-up-waiting.sql');

// The sweep comes again; one statement should not hold thousands of rows.
const AT_ONCE = 500;

/**
 * For those who work: claims, and what may be written under them. `owner` is the worker. Everything takes many at once, is judged
 * by the database's clock alone and answers the runs that were still the owner's.
 */
@Injectable()
export class Runs {
  constructor(
    private readonly database: Database,
    @Optional() @Inject(RUN_LISTENER) private readonly listener?: RunListener,
  ) {}

  /** At most so many: the highest priority first, then the oldest; `sinceMs`: only of what became available in so many ms. */
  async claim(owner: string, most: number, leaseMs: number, sinceMs: number | null = null): Promise<Claim[]> {
    const { rows } = await this.database.query<Claim>(claim, [owner, most, leaseMs, sinceMs]);
    return rows;
  }

  async start(owner: string, claims: readonly Claim[]): Promise<Run[]> {
    const { rows } = await this.database.query<Run>(start, [...idsOf(claims), owner]);
    rejected(claims.length - rows.length);
    return rows;
  }

  /** With what the runs found, in one statement: there is no moment at which the one is there without the other. */
  async complete(owner: string, ended: readonly EndedRun[]): Promise<ReadonlySet<string>> {
    const endings = ended.map(({ ending }) => columnsOf(ending));
    const values = [
      owner,
      ...idsOf(ended.map((one) => one.claim)),
      ...COLUMNS.map((column) => endings.map((ending) => ending[column])),
    ];
    const { listener } = this;
    const rows = listener?.isOn
      ? await this.database.transaction((sql) => completeAndTell(sql, values, listener))
      : (await this.database.query<Completed>(complete, values)).rows;
    rejected(ended.length - rows.length);
    return new Set(rows.map(({ run_id }) => run_id));
  }

  /** The activity has been processed already. False where somebody has forced it meanwhile, or the run is over. */
  async skip(owner: string, { job_id, run_id }: Claim): Promise<boolean> {
    return (await this.idsWritten(skip, [job_id, run_id, owner])).size > 0;
  }

  /** For an ending whose answer was lost on the way. */
  async hasEnded(owner: string, claims: readonly Claim[]): Promise<ReadonlySet<string>> {
    return this.idsWritten(hasEnded, [idsOf(claims)[1], owner]);
  }

  async renew(owner: string, claims: readonly Claim[], leaseMs: number): Promise<ReadonlySet<string>> {
    return this.idsWritten(renew, [...idsOf(claims), owner, leaseMs]);
  }

  /** Back, as if they had not been claimed. */
  async release(owner: string, claims: readonly Claim[]): Promise<void> {
    await this.database.query(release, [...idsOf(claims), owner]);
  }

  /** Takes back what workers died over. Any number of workers may do it at once: each job is taken back by one of them. */
  async requeueExpired(): Promise<Expired[]> {
    await this.database.query(giveUpWaiting, [AT_ONCE]);
    const { rows } = await this.database.query<Expired>(requeueExpired, [AT_ONCE]);
    return rows;
  }

  private async idsWritten(statement: Statement, values: readonly unknown[]): Promise<ReadonlySet<string>> {
    const { rows } = await this.database.query<{ run_id: string }>(statement, values);
    return new Set(rows.map(({ run_id }) => run_id));
  }
}

interface Completed {
  readonly run_id: string;
  readonly status: RunStatus;
}

async function completeAndTell(
  sql: Sql,
  values: readonly unknown[],
  listener: RunListener,
): Promise<Completed[]> {
  const { rows } = await sql.query<Completed>(complete, values);
  const succeeded = rows.filter(({ status }) => status === 'succeeded').map(({ run_id }) => run_id);
  if (succeeded.length > 0) await listener.succeeded(sql, succeeded);
  return rows;
}

function idsOf(claims: readonly Claim[]): [string[], string[]] {
  return [claims.map(({ job_id }) => job_id), claims.map(({ run_id }) => run_id)];
}

function rejected(count: number): void {
  if (count > 0) fenceRejected.inc({ kind: 'job' }, count);
}

const COLUMNS = ['outcome', 'error', 'afterMs', 'result', 'profileId', 'title', 'descriptionHash'] as const;
type Columns = Readonly<Record<(typeof COLUMNS)[number], string | number | null>>;

function columnsOf(ending: Ending): Columns {
  const none = {
    error: null,
    afterMs: null,
    result: null,
    profileId: null,
    title: null,
    descriptionHash: null,
  };
  switch (ending.kind) {
    case 'succeeded': {
      const { resultJson, ...found } = ending.output;
      return { ...none, ...found, outcome: 'succeeded', result: resultJson };
    }
    case 'retry':
      return { ...none, outcome: 'retry_wait', error: ending.error, afterMs: ending.afterMs };
    case 'failed':
      return { ...none, outcome: 'failed_permanent', error: ending.error };
  }
}
