import { Injectable } from '@nestjs/common';
import { type Database, type Sql } from '#platform';
import { type AccountOwner, type ConnectionStore, type ConnectionView } from './connection-store.js';
import { voidConsents } from './connect/oauth-flows.js';
import { type ConnectionListeners } from './listeners.js';
import { type Provider } from './oauth/provider.js';
import { type Revocations } from './revocation/revocations.js';

// A route has to answer within five seconds, the database included.
const REVOKE_NOW_MS = 2_000;

/** The athletes' accounts at the vendors. `AccessTokens` has their tokens. */
export class Connections {
  constructor(
    private readonly database: Database,
    private readonly store: ConnectionStore,
    private readonly revocations: Revocations,
    private readonly listeners: ConnectionListeners,
  ) {}

  list(athleteId: string, sql?: Sql): Promise<ConnectionView[]> {
    return this.store.list(athleteId, sql);
  }

  athleteOf(provider: Provider, vendorAthleteId: string): Promise<AccountOwner | undefined> {
    return this.store.ownerOf(provider, vendorAthleteId);
  }

  /**
   * Deletes the connection and its tokens, and ends the generation, so that no answer of the vendor is stored afterwards. Also
   * revokes the grant at the vendor. If the revocation fails, `Revocations` repeats it later. `guard` runs before, in the same transaction and
   * under the lock on the athlete's row; it returns false if the connection has to stay. False if no connection was ended.
   */
  async disconnect(
    athleteId: string,
    provider: Provider,
    guard?: (sql: Sql) => Promise<boolean>,
  ): Promise<boolean> {
    const ended = await this.database.transaction(async (sql) => {
      // Locks the athlete's row first, as a deletion does: another order could deadlock.
      await sql.query('select from athlete where id = $1 for no key update', [athleteId]);
      if (guard && !(await guard(sql))) return undefined;
      await voidConsents(sql, athleteId, provider);
      const deleted = await this.store.delete(athleteId, provider, sql);
      if (!deleted) return undefined;
      const raise = `update athlete set generation = nextval('athlete_generation') where id = $1`;
      await sql.query(raise, [athleteId]);
      return { revocation: await this.revocations.add({ provider, ...deleted }, sql) };
    });
    if (!ended) return false;
    await this.listeners.disconnected(athleteId, provider);
    await this.revocations.attempt(ended.revocation, AbortSignal.timeout(REVOKE_NOW_MS));
    return true;
  }
}

/** The export of this lib's data: which accounts are connected, never their tokens. A disconnection deletes these rows. */
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
