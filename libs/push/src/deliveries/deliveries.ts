import { randomUUID } from 'node:crypto';
import { AppError, type Database, inBatches, loadSql, NotFound, type Sql } from '#platform';

const listDeliveries = loadSql(import.meta.url, './sql/list-deliveries.sql');
const purgeDeliveries = loadSql(import.meta.url, './sql/purge-deliveries.sql');

const PURGED_AT_ONCE = 5_000;
const MOST_REPLAYS = 10;
// A request must be answered soon. More batches than this wait only after an outage of all workers.
const SEQUENCED_BATCHES = 4;

export const DELIVERY_STATUSES = ['pending', 'delivered', 'failed'] as const;

export interface DeliveryView {
  readonly id: string;
  readonly change_id: string;
  readonly type: string;
  readonly status: (typeof DELIVERY_STATUSES)[number];
  readonly attempts: number;
  readonly last_status: number | null;
  readonly last_response: string | null;
  readonly last_error: string | null;
  readonly next_attempt_at: Date | null;
}

const VIEW = 'id, change_id, type, status, attempts, last_status, last_response, last_error, next_attempt_at';

export interface DeliveriesQueryOf {
  readonly status?: string;
  readonly limit: number;
  /** Only deliveries with smaller ids. */
  readonly cursor?: number;
}

/** The endpoint has as many replays under way as are allowed. */
class TooManyReplays extends AppError {
  override readonly code = 'TOO_MANY_REPLAYS';
  override readonly kind = 'conflict';
  constructor() {
    super(`The endpoint has ${MOST_REPLAYS} replays under way; wait until one of them has ended`);
  }
}

/** The endpoint is disabled, so nothing would be sent. */
class EndpointDisabled extends AppError {
  override readonly code = 'ENDPOINT_DISABLED';
  override readonly kind = 'conflict';
  constructor() {
    super('The endpoint is disabled; set its status to active first');
  }
}

/** Lists the deliveries of an endpoint for an app, and takes orders for a test, a repetition or a replay. A worker sends the requests. */
export class EndpointDeliveries {
  constructor(
    private readonly database: Database,
    private readonly changes: { sequence(batches: number): Promise<unknown> },
  ) {}

  /** Newest first. */
  async list(
    endpointId: string,
    { status, limit, cursor }: DeliveriesQueryOf,
  ): Promise<{ items: readonly DeliveryView[]; next_cursor: string | null }> {
    await this.requireEndpoint(endpointId);
    const values = [endpointId, status ?? null, cursor ?? null, limit + 1];
    const { rows } = await this.database.query<DeliveryView>(listDeliveries, values);
    const items = rows.slice(0, limit);
    return { items, next_cursor: rows.length > limit ? (items.at(-1)?.id ?? null) : null };
  }

  /** Makes a delivery of any status due at once. It may use all its attempts again. */
  async redeliver(endpointId: string, deliveryId: number): Promise<DeliveryView> {
    const statement = `
      update webhook_delivery
      set status = 'pending', attempts = 0, next_attempt_at = clock_timestamp()
      where endpoint_id = $1 and id = $2
      returning ${VIEW}`;
    const { rows } = await this.whileActive(endpointId, (sql) =>
      sql.query<DeliveryView>(statement, [endpointId, deliveryId]),
    );
    if (!rows[0]) throw new NotFound('The endpoint has no such delivery');
    return rows[0];
  }

  /** Sends a change of type `test` that is in no log. */
  async test(endpointId: string): Promise<DeliveryView> {
    const id = randomUUID();
    const at = await this.database.now();
    const body = testChange(id, endpointId, at);
    const statement = `
      insert into webhook_delivery (endpoint_id, change_id, type, body)
      values ($1, $2, 'test', $3)
      returning ${VIEW}`;
    const { rows } = await this.whileActive(endpointId, (sql) =>
      sql.query<DeliveryView>(statement, [endpointId, id, body]),
    );
    return rows[0] as DeliveryView;
  }

  /**
   * Delivers the changes between two times again, also those from before the endpoint existed, as far as the log goes back. The replay of a
   * disabled endpoint goes on, too: its deliveries wait, as all others of the endpoint.
   */
  async replay(endpointId: string, from: Date, to: Date | undefined): Promise<void> {
    await this.requireEndpoint(endpointId);
    await this.changes.sequence(SEQUENCED_BATCHES);
    // The lock waits for another process that is giving changes their place.
    const statement = `
      insert into webhook_replay (endpoint_id, from_time, to_time, next_seq, last_seq)
      select $1, $2, coalesce($3, clock_timestamp()), purged_seq, last_seq
      from change_feed
      where (select count(*) from webhook_replay where endpoint_id = $1) < $4
      for share`;
    const values = [endpointId, from, to ?? null, MOST_REPLAYS];
    await this.database.transaction(async (sql) => {
      // Without the lock, two requests at the same time would both find nine replays.
      await this.lockEndpoint(sql, endpointId, 'no key update');
      const { count } = await sql.query(statement, values);
      if (count === 0) throw new TooManyReplays();
    });
  }

  /** Deletes deliveries older than `retentionMs`, and endpoints that were deleted. Returns the number of deliveries. */
  async purge(retentionMs: number): Promise<number> {
    const statement = 'select id, status from webhook_endpoint';
    const { rows } = await this.database.query<{ id: string; status: string }>(statement);
    let purged = 0;
    for (const { id, status } of rows) {
      const keptMs = status === 'deleted' ? 0 : retentionMs;
      purged += await inBatches(PURGED_AT_ONCE, async (limit) => {
        const { count } = await this.database.query(purgeDeliveries, [id, keptMs, limit]);
        return count;
      });
      if (status === 'deleted') await this.database.query('delete from webhook_endpoint where id = $1', [id]);
    }
    return purged;
  }

  private async requireEndpoint(id: string): Promise<void> {
    const statement = `select from webhook_endpoint where id = $1 and status <> 'deleted'`;
    const { count } = await this.database.query(statement, [id]);
    if (count === 0) throw new NotFound('There is no such endpoint');
  }

  /** Locks the endpoint, so that nobody disables it before the work is committed. Throws EndpointDisabled if it is disabled already. */
  private whileActive<T>(id: string, work: (sql: Sql) => Promise<T>): Promise<T> {
    return this.database.transaction(async (sql) => {
      const { status } = await this.lockEndpoint(sql, id, 'share');
      if (status !== 'active') throw new EndpointDisabled();
      return work(sql);
    });
  }

  private async lockEndpoint(sql: Sql, id: string, lock: 'share' | 'no key update') {
    const statement = `select status from webhook_endpoint where id = $1 and status <> 'deleted' for ${lock}`;
    const { rows } = await sql.query<{ status: string }>(statement, [id]);
    if (!rows[0]) throw new NotFound('There is no such endpoint');
    return rows[0];
  }
}

function testChange(id: string, endpointId: string, at: Date): string {
  const what = { id, type: 'test', athlete_id: null, subject_id: endpointId };
  return JSON.stringify({ ...what, revision: 0, occurred_at: at.toISOString(), data: null });
}
