import { type Database, fenceRejected, loadSql, type Sql, startAtZero, type Statement } from '#platform';
import { type RunStatus } from './job.js';
import { MOST_LOST_WORKERS } from './retry-policy.js';
import { type RunClaim, type EndedRun, type RunOutcome, type ExpiredJob, type Run } from './run.js';
import { type RunKey, type RunListener } from './run.js';

const claim = loadSql(import.meta.url, './sql/claim.sql');
const claimAlone = loadSql(import.meta.url, './sql/claim-alone.sql');
const start = loadSql(import.meta.url, './sql/start.sql');
const complete = loadSql(import.meta.url, './sql/complete.sql');
const skip = loadSql(import.meta.url, './sql/skip.sql');
const hasEnded = loadSql(import.meta.url, './sql/has-ended.sql');
const renew = loadSql(import.meta.url, './sql/renew.sql');
const release = loadSql(import.meta.url, './sql/release.sql');
const requeueExpired = loadSql(import.meta.url, './sql/requeue-expired.sql');
const giveUpWaiting = loadSql(import.meta.url, './sql/give-up-waiting.sql');

startAtZero(fenceRejected, [{ kind: 'job' }]);

// One statement should not lock thousands of rows; the next sweep takes the rest.
const AT_ONCE = 500;

/**
 * The worker's side of jobs: claim, start, complete, skip, renew and release runs of one worker (`owner`). A write changes only runs
 * with a valid claim; `start`, `complete` and `renew` return the changed runs. All times are times of the database's clock.
 */
export class Runs {
  constructor(
    private readonly database: Database,
    private readonly listener?: RunListener,
  ) {}

  /**
   * Claims at most `most` jobs that have lost no worker: highest priority first, then oldest. With `sinceMs`, only jobs that
   * became available within the last `sinceMs`.
   */
  async claim(
    owner: string,
    most: number,
    leaseMs: number,
    sinceMs: number | null = null,
  ): Promise<RunClaim[]> {
    const { rows } = await this.database.query<RunClaim>(claim, [owner, most, leaseMs, sinceMs]);
    return rows;
  }

  /** Claims one job that has lost a worker. The caller runs no other job meanwhile. */
  async claimAlone(owner: string, leaseMs: number): Promise<RunClaim | undefined> {
    return (await this.database.query<RunClaim>(claimAlone, [owner, leaseMs])).rows[0];
  }

  async start(owner: string, claims: readonly RunClaim[]): Promise<Run[]> {
    const { rows } = await this.database.query<Run>(start, [...idsOf(claims), owner]);
    rejected(claims.length - rows.length);
    return rows;
  }

  /** Ends runs and stores their outputs with one statement, so that neither exists without the other. */
  async complete(owner: string, ended: readonly EndedRun[]): Promise<ReadonlySet<string>> {
    const outcomes = ended.map(({ outcome }) => columnsOf(outcome));
    const values = [
      owner,
      ...idsOf(ended.map((one) => one.claim)),
      ...COLUMNS.map((column) => outcomes.map((outcome) => outcome[column])),
    ];
    const { listener } = this;
    const rows = listener?.isOn
      ? await this.database.transaction((sql) => completeAndNotify(sql, values, listener))
      : (await this.database.query<Completed>(complete, values)).rows;
    rejected(ended.length - rows.length);
    return new Set(rows.map(({ run_id }) => run_id));
  }

  /** Ends a run whose activity has been processed already. False if the job was forced meanwhile, or the run has ended. */
  async skip(owner: string, { athlete_id, job_id, run_id }: RunClaim): Promise<boolean> {
    return (await this.idsWritten(skip, [athlete_id, job_id, run_id, owner])).size > 0;
  }

  /** Returns the ids of the runs that `complete` has ended; called when the answer of `complete` was lost. */
  async hasEnded(owner: string, claims: readonly RunClaim[]): Promise<ReadonlySet<string>> {
    const [athletes, , runs] = idsOf(claims);
    return this.idsWritten(hasEnded, [athletes, runs, owner]);
  }

  async renew(owner: string, claims: readonly RunClaim[], leaseMs: number): Promise<ReadonlySet<string>> {
    return this.idsWritten(renew, [...idsOf(claims), owner, leaseMs]);
  }

  /** Puts claimed jobs that have not begun back into the queue, without using an attempt. */
  async release(owner: string, claims: readonly RunClaim[]): Promise<void> {
    await this.database.query(release, [...idsOf(claims), owner]);
  }

  /**
   * Takes jobs with an expired lease back, and fails waiting jobs whose `max_attempts` was lowered. Several workers may call this
   * at once: one of them takes each job.
   */
  async requeueExpired(): Promise<ExpiredJob[]> {
    await this.database.query(giveUpWaiting, [AT_ONCE]);
    const { rows } = await this.database.query<ExpiredJob>(requeueExpired, [AT_ONCE, MOST_LOST_WORKERS]);
    return rows;
  }

  private async idsWritten(statement: Statement, values: readonly unknown[]): Promise<ReadonlySet<string>> {
    const { rows } = await this.database.query<{ run_id: string }>(statement, values);
    return new Set(rows.map(({ run_id }) => run_id));
  }
}

interface Completed extends RunKey {
  readonly status: RunStatus;
}

async function completeAndNotify(
  sql: Sql,
  values: readonly unknown[],
  listener: RunListener,
): Promise<Completed[]> {
  const { rows } = await sql.query<Completed>(complete, values);
  const succeeded = rows.filter(({ status }) => status === 'succeeded');
  if (succeeded.length > 0) await listener.succeeded(sql, succeeded);
  return rows;
}

function idsOf(claims: readonly RunClaim[]): [string[], string[], string[]] {
  return [
    claims.map(({ athlete_id }) => athlete_id),
    claims.map(({ job_id }) => job_id),
    claims.map(({ run_id }) => run_id),
  ];
}

function rejected(count: number): void {
  if (count > 0) fenceRejected.inc({ kind: 'job' }, count);
}

const COLUMNS = [
  'outcome',
  'error',
  'afterMs',
  'result',
  'profileId',
  'title',
  'descriptionHash',
  'waitsFor',
] as const;
type Columns = Readonly<Record<(typeof COLUMNS)[number], string | number | null>>;

function columnsOf(outcome: RunOutcome): Columns {
  const none = {
    error: null,
    afterMs: null,
    result: null,
    profileId: null,
    title: null,
    descriptionHash: null,
    waitsFor: null,
  };
  switch (outcome.kind) {
    case 'succeeded': {
      const { resultJson, ...found } = outcome.output;
      return { ...none, ...found, outcome: 'succeeded', result: resultJson };
    }
    case 'retry':
      return { ...none, outcome: 'retry_wait', error: outcome.error, afterMs: outcome.afterMs };
    case 'waiting': {
      const { waitsFor, afterMs } = outcome;
      return { ...none, outcome: 'retry_wait', error: `Waits for ${waitsFor}`, afterMs, waitsFor };
    }
    case 'failed':
      return { ...none, outcome: 'failed_permanent', error: outcome.error };
  }
}
