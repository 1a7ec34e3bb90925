import { Injectable } from '@nestjs/common';
import { Connections, NotConnected, type Provider } from '#connections';
import { AppError } from '#platform';
import { Receipts } from './receipts.js';

/** The data of the connection before is still being deleted. */
export class StillLeaving extends AppError {
  override readonly code = 'ACCOUNT.STILL_LEAVING';
  override readonly kind = 'conflict';
  override readonly retryAfterSeconds = 5;
  constructor() {
    super('What was disconnected is still being deleted: try again in a moment');
  }
}

/** Leaving, wholly or from one vendor. The receipt is written first: whatever fails after that is done by the worker. */
@Injectable()
export class Account {
  constructor(
    private readonly receipts: Receipts,
    private readonly connections: Connections,
  ) {}

  delete(athleteId: string): Promise<string> {
    return this.receipts.open(athleteId, null, 'requested');
  }

  async disconnect(athleteId: string, provider: Provider): Promise<string> {
    const connections = await this.connections.list(athleteId);
    if (!connections.some((connection) => connection.provider === provider)) throw new NotConnected(provider);
    const receiptId = await this.receipts.open(athleteId, provider, 'requested');
    await this.connections.disconnect(athleteId, provider);
    return receiptId;
  }

  /** Before a new connection: what is being deleted and what comes anew must not meet. */
  async assertNotLeaving(athleteId: string, provider: Provider): Promise<void> {
    if (await this.receipts.isOpen(athleteId, provider)) throw new StillLeaving();
  }

  /** The athlete has taken our access away at the vendor. False: they have connected again since then. */
  async deauthorized(athleteId: string, provider: Provider, connectedAt: string): Promise<boolean> {
    const receiptId = await this.receipts.openForConnection(athleteId, provider, connectedAt);
    if (!receiptId) return false;
    await this.connections.disconnect(athleteId, provider);
    return true;
  }
}
