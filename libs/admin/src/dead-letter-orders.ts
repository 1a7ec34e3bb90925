import { Inject, Injectable, type OnApplicationBootstrap } from '@nestjs/common';
import {
  Database,
  DeadLetters,
  type Held,
  type LetterFilter,
  LOGGER,
  type Logger,
  OperatorActions,
  type Worker,
  Workers,
} from '#platform';
import { type OrderClaim, type OrderOutcome, OrderRows } from './order-rows.js';

const EVERY_MS = 2_000;
const LEASE_MS = 60_000;
const COLUMNS = `
  action, reason, subject, seqs::float8[] as seqs, stream_created, up_to_seq::float8 as up_to_seq, after_seq::float8 as after_seq`;

export type OrderAction = 'replay' | 'discard';

/** The right to carry out an order about dead letters. */
export interface DeadLetterClaim extends OrderClaim {
  readonly action: OrderAction;
  readonly reason: string | null;
  readonly subject: string | null;
  readonly seqs: readonly number[] | null;
  readonly stream_created: string;
  readonly up_to_seq: number;
  readonly after_seq: number;
}

/**
 * Stores operators' orders to replay or discard many dead letters, and records the operator of each order. `DeadLetterOrderWorker` carries
 * out the orders.
 */
@Injectable()
export class DeadLetterOrders {
  constructor(
    private readonly letters: DeadLetters,
    private readonly database: Database,
    private readonly actions: OperatorActions,
  ) {}

  /** Returns how many dead letters match at this moment. An idle worker begins within two seconds. */
  async place(action: OrderAction, filter: LetterFilter, actor: string): Promise<number> {
    const { matched, upToSeq, streamCreated } = await this.letters.match(filter);
    const { reason = null, subject = null, seqs = null } = filter;
    const statement = `
      insert into dead_letter_order (action, reason, subject, seqs, stream_created, up_to_seq, matched)
      values ($1, $2, $3, $4, $5, $6, $7)`;
    await this.database.transaction(async (sql) => {
      const detail = { reason, subject, seqs, matched };
      await this.actions.note({ actor, action: `dlq.${action}`, target: 'several', detail }, sql);
      if (matched > 0)
        await sql.query(statement, [action, reason, subject, seqs, streamCreated, upToSeq, matched]);
    });
    return matched;
  }
}

/** The rows of orders about dead letters. */
@Injectable()
export class DeadLetterOrderRows extends OrderRows<DeadLetterClaim> {
  constructor(database: Database) {
    super(database, 'dead_letter_order', COLUMNS);
  }

  /** Throws ClaimLost. */
  async moveOn({ id, fence }: DeadLetterClaim, seenSeq: number, handled: number): Promise<void> {
    const statement = `
      update dead_letter_order
      set after_seq = greatest(after_seq, $3), handled = handled + $4
      where id = $1 and fence = $2`;
    this.rows.require(await this.database.query(statement, [id, fence, seenSeq, handled]));
  }
}

/**
 * Carries out orders one after the other, in batches. The row of an order has the last handled sequence, so another worker can continue
 * after a crash. A failed order is retried every two seconds, without end.
 *
 * After a crash or a failure, a dead letter may be replayed twice. Within two hours the stream drops the duplicate. Later the event is
 * handled again, with the same result.
 */
@Injectable()
export class DeadLetterOrderWorker implements OnApplicationBootstrap {
  private readonly worker: Worker<DeadLetterClaim, OrderOutcome>;

  constructor(
    private readonly letters: DeadLetters,
    private readonly rows: DeadLetterOrderRows,
    workers: Workers,
    @Inject(LOGGER) private readonly logger: Logger,
  ) {
    this.worker = workers.of<DeadLetterClaim, OrderOutcome>({
      name: 'dead letter orders',
      lease: { ms: LEASE_MS },
      everyMs: EVERY_MS,
      claim: (leaseMs) => rows.claim(leaseMs),
      renew: (order, leaseMs) => rows.renew(order, leaseMs),
      run: (order, held) => this.carryOut(order, held),
      // A server is probably away.
      failed: () => ({ kind: 'failed', pauses: true }),
      settle: (order, outcome) => rows.settle(order, outcome),
      about: ({ id, action }) => ({ order_id: id, action }),
    });
  }

  onApplicationBootstrap(): void {
    this.worker.start();
  }

  /** Carries out all open orders. */
  async runOnce(): Promise<void> {
    await this.worker.drain();
  }

  private async carryOut(claim: DeadLetterClaim, { isStopping }: Held): Promise<OrderOutcome> {
    const { id, action, after_seq, ...order } = claim;
    const filter: LetterFilter = {
      reason: order.reason ?? undefined,
      subject: order.subject ?? undefined,
      seqs: order.seqs ?? undefined,
    };
    const range = { upToSeq: order.up_to_seq, streamCreated: order.stream_created };
    let handled = 0;
    for await (const { letters, seenSeq } of this.letters.matching(filter, after_seq, range)) {
      if (isStopping()) return { kind: 'interrupted' };
      const done =
        action === 'replay' ? await this.letters.replayAll(letters) : await this.letters.discardAll(letters);
      handled += done;
      await this.rows.moveOn(claim, seenSeq, done);
    }
    this.logger.info({ order_id: id, action, handled }, 'dead letters handled');
    return { kind: 'completed' };
  }
}
