import { Inject, Injectable, type OnApplicationBootstrap } from '@nestjs/common';
import { Backfill } from '#backfill';
import {
  Database,
  type Held,
  LOGGER,
  type Logger,
  OperatorActions,
  type Sql,
  type Worker,
  Workers,
} from '#platform';
import { FailedFetches, type FailedFilter } from '#streams';
import { type OrderClaim, type OrderOutcome, OrderRows } from './order-rows.js';

const EVERY_MS = 2_000;
const LEASE_MS = 60_000;
// 500 rows take some 50 ms, so that a reset holds no lock for long.
const RESET_AT_ONCE = 500;

/** The right to carry out a reset. */
interface StreamResetClaim extends OrderClaim {
  readonly error: string | null;
  readonly athlete_id: string | null;
  readonly ordered_at: Date;
}

/** Stores operators' orders to reset many failed stream fetches, and records the operator of each. `StreamResetOrderWorker` carries them out. */
@Injectable()
export class StreamResetOrders {
  constructor(
    private readonly database: Database,
    private readonly failed: FailedFetches,
    private readonly actions: OperatorActions,
  ) {}

  /** Returns how many fetches match at this moment. An idle worker begins within two seconds. */
  place(filter: FailedFilter, actor: string): Promise<number> {
    const { error = null, athleteId = null } = filter;
    const statement = `
      insert into stream_reset_order (error, athlete_id, matched, ordered_at)
      values ($1, $2, $3, $4)`;
    return this.database.transaction(async (sql) => {
      const { rows } = await sql.query<{ now: Date }>('select clock_timestamp() as now');
      const now = (rows[0] as { now: Date }).now;
      const matched = await this.failed.count(sql, filter, now);
      const detail = { error, athlete_id: athleteId, matched };
      await this.actions.note({ actor, action: 'streams.reset', target: 'several', detail }, sql);
      if (matched > 0) await sql.query(statement, [error, athleteId, matched, now]);
      return matched;
    });
  }
}

/** The rows of orders to reset stream fetches. */
@Injectable()
export class StreamResetOrderRows extends OrderRows<StreamResetClaim> {
  constructor(database: Database) {
    super(database, 'stream_reset_order', 'error, athlete_id, ordered_at');
  }

  /** Counts handled fetches, in the transaction that resets them. Throws ClaimLost. */
  async countHandled(sql: Sql, { id, fence }: OrderClaim, handled: number): Promise<void> {
    const statement = 'update stream_reset_order set handled = handled + $3 where id = $1 and fence = $2';
    this.rows.require(await sql.query(statement, [id, fence, handled]));
  }
}

/**
 * Resets failed stream fetches, 500 in a transaction with the fence of the order, so that each fetch is reset and counted once. Another
 * worker continues after a crash. The athletes' backfills begin at once; without Redis, a sweep begins them within a minute.
 *
 * A failed order is retried every two seconds, without end. So is an order whose last rows are locked by other transactions.
 */
@Injectable()
export class StreamResetOrderWorker implements OnApplicationBootstrap {
  private readonly worker: Worker<StreamResetClaim, OrderOutcome>;

  constructor(
    private readonly database: Database,
    private readonly failed: FailedFetches,
    private readonly backfill: Backfill,
    private readonly rows: StreamResetOrderRows,
    workers: Workers,
    @Inject(LOGGER) private readonly logger: Logger,
  ) {
    this.worker = workers.of<StreamResetClaim, OrderOutcome>({
      name: 'stream reset orders',
      lease: { ms: LEASE_MS },
      everyMs: EVERY_MS,
      claim: (leaseMs) => rows.claim(leaseMs),
      renew: (order, leaseMs) => rows.renew(order, leaseMs),
      run: (order, held) => this.carryOut(order, held),
      failed: () => ({ kind: 'failed', pauses: true }),
      settle: (order, outcome) => rows.settle(order, outcome),
      about: ({ id }) => ({ order_id: id }),
    });
  }

  onApplicationBootstrap(): void {
    this.worker.start();
  }

  /** Carries out all open orders. */
  async runOnce(): Promise<void> {
    await this.worker.drain();
  }

  private async carryOut(claim: StreamResetClaim, { isStopping }: Held): Promise<OrderOutcome> {
    const filter = { error: claim.error ?? undefined, athleteId: claim.athlete_id ?? undefined };
    for (;;) {
      if (isStopping()) return { kind: 'interrupted' };
      const athletes = await this.resetSome(claim, filter);
      if (athletes.length === 0) break;
      await this.beginBackfills(new Set(athletes));
    }
    const left = await this.failed.count(this.database, filter, claim.ordered_at);
    if (left > 0) return { kind: 'waiting', pauses: true };
    this.logger.info({ order_id: claim.id }, 'stream fetches reset');
    return { kind: 'completed' };
  }

  private resetSome(claim: StreamResetClaim, filter: FailedFilter): Promise<readonly string[]> {
    return this.database.transaction(async (sql) => {
      const athletes = await this.failed.resetSome(sql, filter, claim.ordered_at, RESET_AT_ONCE);
      await this.rows.countHandled(sql, claim, athletes.length);
      return athletes;
    });
  }

  private async beginBackfills(athletes: ReadonlySet<string>): Promise<void> {
    // Stops at the first failure: without Redis each attempt takes a second.
    for (const athlete of athletes) if (!(await this.backfill.beginAll(athlete))) return;
  }
}
