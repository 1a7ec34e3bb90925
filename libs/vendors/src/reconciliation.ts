import {
  ClaimLost,
  type Database,
  DependencyUnavailable,
  type Fenced,
  FencedRows,
  type Logger,
  type Outcome,
  type Sql,
  type TimeScale,
  type Work,
} from '#platform';
import { type CallFailure, type CallOutcome } from './call/call-outcome.js';

const DAY_MS = 86_400_000;
const FIRST_PAUSE_MS = 600_000;
const LONGEST_PAUSE_MS = DAY_MS;
const MOST_DOUBLINGS = 10;

/** The reconciliation of one kind of records with a vendor's list, as the feature that keeps these records declares it. */
export interface Reconcilable<Claim extends Fenced, Done> extends Pick<
  Work<Claim, Outcome>,
  'name' | 'lease' | 'everyMs'
> {
  readonly rows: ReconciliationRows<Claim>;
  /** Claims the due row that was reconciled longest ago. A consent after `postponed_at` ends the row's pause. */
  readonly claim: (leaseMs: number) => Promise<Claim | undefined>;
  /**
   * Lists slice after slice, applies the differences, and has each record that the list lacks confirmed by its id. Yields after each step
   * that is stored, so that another worker continues from there.
   */
  readonly steps: (claim: Claim, signal: AbortSignal) => AsyncGenerator<void, CallOutcome<Done>>;
  /** Writes the end and ends the lease. False: another worker has the claim. */
  readonly finish: (claim: Claim, done: Done) => Promise<boolean>;
  /** Fields of the log lines about a claim, and about its end. */
  readonly about: (claim: Claim, done?: Done) => object;
}

type ReconciliationOutcome<Done> =
  | (Outcome & { readonly kind: 'completed'; readonly done: Done })
  | (Outcome & { readonly kind: 'interrupted' | 'notNow' | 'revoked' | 'refused'; readonly afterMs: number })
  | (Outcome & { readonly kind: 'failed' });

/**
 * Compares our records with a vendor's list, because events may be lost. No person waits for it, so each row waits out its pauses. The
 * lane pauses as well if the reason may concern all rows of the vendor, but no longer than until the vendor's time has come.
 *
 * | outcome                                      | the row continues                    | the lane |
 * | -------------------------------------------- | ------------------------------------ | -------- |
 * | the process stops                            | at once, in another worker           |          |
 * | notNow: limit, budget unavailable, app off   | when the vendor's time has come      | pauses   |
 * | revoked                                      | after 10 min, and once it may call   | goes on  |
 * | refused: a scope or a membership is missing  | after a day                          | goes on  |
 * | outage of the vendor or of our servers       | after 10, 20, 40 min … a day         | pauses   |
 * | any other failure, no token for now          | the same                             | goes on  |
 *
 * A new consent ends each pause. A stored step begins the growing pauses anew.
 */
export function reconciliationWork<Claim extends Fenced, Done>(
  feature: Reconcilable<Claim, Done>,
  scale: TimeScale,
  logger: Logger,
): Work<Claim, ReconciliationOutcome<Done>> {
  const { name, rows, steps, finish, about } = feature;
  const firstPauseMs = scale.wait(FIRST_PAUSE_MS);
  const longestPauseMs = scale.wait(LONGEST_PAUSE_MS);

  function afterFailure(failure: CallFailure): ReconciliationOutcome<Done> {
    switch (failure.kind) {
      case 'notNow':
        // One athlete's token must not hold up the others.
        if (failure.because === 'tokenUnavailable') return { kind: 'failed' };
        return {
          kind: 'notNow',
          afterMs: failure.retryAfterMs,
          pauses: true,
          // 0 names no time.
          ...(failure.retryAfterMs > 0 && { overInMs: failure.retryAfterMs }),
        };
      case 'revoked':
        return { kind: 'revoked', afterMs: firstPauseMs };
      case 'refused':
        return { kind: 'refused', afterMs: longestPauseMs };
      case 'gone':
      case 'broken':
        return { kind: 'failed', pauses: failure.kind === 'broken' && failure.because === 'outage' };
    }
  }

  return {
    ...feature,
    renew: (claim, leaseMs) => rows.renew(claim, leaseMs),
    run: async (claim, { signal, isStopping }) => {
      const stepping = steps(claim, signal);
      while (!isStopping()) {
        const { done, value } = await stepping.next();
        if (!done) continue;
        if (value.kind === 'ok') return { kind: 'completed', done: value.value };
        logger.warn({ work: name, ...about(claim), reason: value.reason }, 'reconciliation paused');
        return afterFailure(value);
      }
      return { kind: 'interrupted', afterMs: 0 };
    },
    failed: (_, error) => ({ kind: 'failed', pauses: error instanceof DependencyUnavailable }),
    settle: async (claim, outcome) => {
      if (outcome.kind === 'failed') return rows.failed(claim, firstPauseMs, longestPauseMs);
      if (outcome.kind !== 'completed') return rows.postpone(claim, outcome.afterMs);
      const isOurs = await finish(claim, outcome.done);
      if (isOurs) logger.info({ work: name, ...about(claim, outcome.done) }, 'reconciliation completed');
      return isOurs;
    },
  };
}

/** The names of a feature's rows. The columns `leased_until`, `fence`, `postponed_at` and `reconcile_failures` are the same for all. */
interface RowNames<Claim> {
  /** The label of `fence_rejected_total`. */
  readonly kind: string;
  readonly table: string;
  /** The columns that name a row, and the fields of the claim. */
  readonly key: ReadonlyArray<keyof Claim & string>;
  /** The column with the time at which a pause ends. */
  readonly dueAt: string;
}

/**
 * The rows of a feature's reconciliations. All times are by the database's clock. Each write is fenced, so a worker that was frozen past
 * its lease cannot write for another worker's claim.
 */
export class ReconciliationRows<Claim extends Fenced> {
  private readonly fenced: FencedRows;

  constructor(
    private readonly database: Database,
    private readonly names: RowNames<Claim>,
  ) {
    this.fenced = new FencedRows(names.kind, names.table, ...names.key);
  }

  /** False: another worker has the claim, or the row is gone. */
  renew(claim: Claim, leaseMs: number): Promise<boolean> {
    return this.fenced.renew(this.database, this.keyOf(claim), claim, leaseMs);
  }

  /** Writes the end and ends the lease; `set` numbers its values from $1. False as for `renew`. */
  end(claim: Claim, set: string, values: readonly unknown[] = []): Promise<boolean> {
    return this.write(claim, `${set}, reconcile_failures = 0, leased_until = null`, values);
  }

  /** Stores a step; `set` as for `end`. Throws ClaimLost. */
  async moveOn(claim: Claim, set: string, values: readonly unknown[], sql?: Sql): Promise<void> {
    if (!(await this.write(claim, `${set}, reconcile_failures = 0`, values, sql))) throw new ClaimLost();
  }

  /** Keeps the claim until the transaction ends: no other worker claims the row meanwhile. Throws ClaimLost. */
  async require(sql: Sql, claim: Claim): Promise<void> {
    const statement = `select 1 from ${this.names.table} where ${this.isOurs(0)} for share`;
    this.fenced.require(await sql.query(statement, this.identityOf(claim)));
  }

  /** Ends the lease; any worker continues after `ms`. */
  postpone(claim: Claim, ms: number): Promise<boolean> {
    return this.pause(claim, '$1::float8', [ms]);
  }

  /** Ends the lease. Each failure in a row doubles the pause. */
  failed(claim: Claim, firstMs: number, longestMs: number): Promise<boolean> {
    const ms = `least($2::float8, $1::float8 * power(2, least(reconcile_failures, ${MOST_DOUBLINGS})))`;
    return this.pause(claim, ms, [firstMs, longestMs], 'reconcile_failures = reconcile_failures + 1,');
  }

  private pause(claim: Claim, ms: string, values: readonly number[], more = ''): Promise<boolean> {
    const set = `
      ${more}
      ${this.names.dueAt} = clock_timestamp() + ${ms} * interval '1 millisecond',
      postponed_at = clock_timestamp(),
      leased_until = null`;
    return this.write(claim, set, values);
  }

  private async write(
    claim: Claim,
    set: string,
    values: readonly unknown[],
    sql: Sql = this.database,
  ): Promise<boolean> {
    const statement = `update ${this.names.table} set ${set} where ${this.isOurs(values.length)}`;
    return this.fenced.accepted(await sql.query(statement, [...values, ...this.identityOf(claim)]));
  }

  private isOurs(values: number): string {
    return ['fence', ...this.names.key].map((column, n) => `${column} = $${values + n + 1}`).join(' and ');
  }

  private identityOf(claim: Claim): string[] {
    return [claim.fence, ...this.keyOf(claim)];
  }

  private keyOf(claim: Claim): string[] {
    return this.names.key.map((column) => String(claim[column]));
  }
}
