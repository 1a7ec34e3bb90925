import { Injectable } from '@nestjs/common';
import { Connections, NotConnected, type Provider } from '#connections';
import { Receipts } from './receipts.js';

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

  /** The athlete has taken our access away at the vendor. */
  async deauthorized(athleteId: string, provider: Provider): Promise<void> {
    await this.receipts.open(athleteId, provider, 'deauthorized');
    await this.connections.disconnect(athleteId, provider);
  }
}
