import { Injectable } from '@nestjs/common';
import { Connections } from './connections.js';

/** What the account exports of ours: which accounts are connected, never their tokens. Disconnecting deletes them. */
@Injectable()
export class ConnectionRecords {
  readonly name = 'connections';
  readonly provider = null;

  constructor(private readonly connections: Connections) {}

  async *read(athleteId: string): AsyncGenerator<readonly object[]> {
    const connections = await this.connections.list(athleteId);
    if (connections.length > 0) yield connections;
  }
}
