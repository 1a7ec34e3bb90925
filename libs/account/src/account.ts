import { Inject, Injectable } from '@nestjs/common';
import { Athletes, Connections, NotConnected, type Provider } from '#connections';
import {
  AppError,
  beginUnannouncedDeletion,
  type Caller,
  type Config,
  CONFIG,
  longestWaitMs,
  NotFound,
} from '#platform';
import { VENDORS } from '#vendors';
import { Receipts } from './receipts.js';

/** The data of an earlier connection is still being deleted. */
class StillLeaving extends AppError {
  override readonly code = 'DELETION_IN_PROGRESS';
  override readonly kind = 'conflict';
  override readonly retryAfterSeconds = 5;
  constructor() {
    super('The data of the earlier connection is still being deleted: try again in a moment');
  }
}

/**
 * Requests the deletion of an account or of one vendor's data. Each request stores a receipt, so that a worker carries out the deletion
 * even if this process crashes.
 */
@Injectable()
export class Account {
  constructor(
    private readonly receipts: Receipts,
    private readonly connections: Connections,
    private readonly athletes: Athletes,
    @Inject(CONFIG) private readonly config: Pick<Config, 'nats'>,
  ) {}

  /**
   * Opens a receipt and returns its id. If the account was deleted within the remembered time and does not exist again, returns the id of
   * that receipt, because no new data can have been stored. A key or an operator creates no athlete: throws NotFound for an unknown one.
   */
  async delete(caller: Caller): Promise<string> {
    const ids = this.athletes.possibleIds(caller);
    const before = await this.receipts.ofDeparted(ids, longestWaitMs(this.config.nats));
    if (before) return before;
    if (caller.actor === undefined) return this.receipts.open(await this.athletes.ensure(caller));
    if (!(await this.athletes.exists(caller.athleteId))) throw new NotFound();
    return this.receipts.open(caller.athleteId);
  }

  /** Ends the connection and requests the deletion of the vendor's data. Throws NotConnected. */
  async disconnect(athleteId: string, provider: Provider): Promise<string> {
    const receiptId = await this.end(athleteId, provider, 'requested');
    if (receiptId === undefined) throw new NotConnected(VENDORS[provider]);
    return receiptId;
  }

  /**
   * Throws StillLeaving until the rows of the earlier connection are deleted. Otherwise the deletion would also delete rows of the new
   * connection.
   */
  async assertNotLeaving(athleteId: string, provider: Provider): Promise<void> {
    if (await this.receipts.isOpen(athleteId, provider)) throw new StillLeaving();
  }

  /**
   * Ends the connection that the athlete has deauthorised at the vendor, and requests the deletion of its data. Returns false if the
   * athlete has connected again since then.
   */
  async deauthorized(athleteId: string, provider: Provider, connectedAt: string): Promise<boolean> {
    return (await this.end(athleteId, provider, 'deauthorized', connectedAt)) !== undefined;
  }

  /**
   * Opens the receipt in the transaction that ends the connection. Between two transactions a worker could finish the deletion and the
   * athlete connect again, and the second transaction would end the new connection.
   */
  private async end(
    athleteId: string,
    provider: Provider,
    reason: 'requested' | 'deauthorized',
    connectedAt?: string,
  ): Promise<string | undefined> {
    let receiptId: string | undefined;
    await this.connections.disconnect(athleteId, provider, async (sql) => {
      receiptId = await this.receipts.openForConnection(sql, athleteId, provider, reason, connectedAt);
      // The worker announces the end of the connection after it has deleted the data.
      await beginUnannouncedDeletion(sql, 'vendor');
      return receiptId !== undefined;
    });
    return receiptId;
  }
}
