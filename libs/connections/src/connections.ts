import { type Database, type Sql, type TimeScale } from '#platform';
import {
  type ConnectionStore,
  type ConnectionView,
  type Owner,
  type StoredConnection,
} from './connection-store.js';
import { NeedsReauth, NotConnected, VendorUnreachable } from './errors.js';
import { type Announcements } from './listeners.js';
import { oauthFacts } from './oauth/providers.js';
import { type Provider } from './oauth/provider.js';
import { type Renewal } from './refresh/renewal.js';
import { type Revocations } from './revocation/revocations.js';

// A token is renewed this long before its end, so that no call meets its last second; not all at the same moment.
const AHEAD_MS = 5 * 60_000;
const SHORTEST_AHEAD_MS = 2_000;
// With this much left it still serves a caller whose renewal did not work out.
const STILL_GOOD_MS = 1_000;
// For somebody who waits: an api route has to answer within five seconds.
const REVOKE_NOW_MS = 2_000;

export interface Access {
  readonly token: string;
  readonly athleteId: string;
  readonly vendorAthleteId: string;
  readonly scopes: readonly string[];
  readonly generation: number;
}

/** The athletes' accounts at the vendors, and living access tokens for them. */
export class Connections {
  constructor(
    private readonly database: Database,
    private readonly store: ConnectionStore,
    private readonly renewal: Renewal,
    private readonly revocations: Revocations,
    private readonly announcements: Announcements,
    private readonly timeScale: TimeScale,
  ) {}

  list(athleteId: string, sql?: Sql): Promise<ConnectionView[]> {
    return this.store.list(athleteId, sql);
  }

  /** A token to call the vendor with. Throws NotConnected, NeedsReauth or VendorUnreachable. */
  async access(athleteId: string, provider: Provider): Promise<Access> {
    const connection = await this.find(athleteId, provider);
    if (connection.status === 'needs_reauth') throw new NeedsReauth(provider);
    if (connection.expiresInMs > this.aheadMs(provider)) return accessOf(connection);
    try {
      return accessOf(await this.renewal.renewed(connection));
    } catch (error) {
      if (error instanceof VendorUnreachable && connection.expiresInMs > STILL_GOOD_MS) {
        const current = await this.find(athleteId, provider);
        if (current.expiresInMs > STILL_GOOD_MS) return accessOf(current);
      }
      throw error;
    }
  }

  /** The vendor answered 401 to that token. `renewed`: ask for access again; `revoked`: only the athlete can mend it. */
  async rejected(athleteId: string, provider: Provider, token: string): Promise<'renewed' | 'revoked'> {
    try {
      const connection = await this.find(athleteId, provider);
      if (connection.status === 'needs_reauth') return 'revoked';
      if (connection.accessToken !== token) return 'renewed';
      await this.renewal.renewed(connection);
      return 'renewed';
    } catch (error) {
      if (error instanceof NeedsReauth || error instanceof NotConnected) return 'revoked';
      throw error;
    }
  }

  athleteOf(provider: Provider, vendorAthleteId: string): Promise<Owner | undefined> {
    return this.store.ownerOf(provider, vendorAthleteId);
  }

  /**
   * From the commit on nothing more is stored for this connection (the generation) and no token is left here. The vendor is
   * told at once, and again later where it does not answer. False where there was none.
   */
  async disconnect(athleteId: string, provider: Provider): Promise<boolean> {
    const ended = await this.database.transaction(async (sql) => {
      // The athlete first, as whoever deletes one does.
      await sql.query('select from athlete where id = $1 for no key update', [athleteId]);
      const severed = await this.store.sever(athleteId, provider, sql);
      if (!severed) return undefined;
      const raise = `update athlete set generation = nextval('athlete_generation') where id = $1`;
      await sql.query(raise, [athleteId]);
      return { revocation: await this.revocations.add({ provider, ...severed }, sql) };
    });
    if (!ended) return false;
    await this.announcements.disconnected(athleteId, provider);
    await this.revocations.attempt(ended.revocation, AbortSignal.timeout(REVOKE_NOW_MS));
    return true;
  }

  private async find(athleteId: string, provider: Provider): Promise<StoredConnection> {
    const connection = await this.store.find(athleteId, provider);
    if (!connection) throw new NotConnected(provider);
    return connection;
  }

  /** A few minutes, of the vendor's time; never so early that the vendor would answer with the same token. */
  private aheadMs(provider: Provider): number {
    const jitter = 0.75 + Math.random() / 2;
    const aheadMs = Math.max(this.timeScale.wait(AHEAD_MS), SHORTEST_AHEAD_MS) * jitter;
    return Math.min(aheadMs, this.timeScale.wait(oauthFacts[provider].renewableMs) * 0.9);
  }
}

function accessOf({ accessToken, athleteId, vendorAthleteId, scopes, generation }: StoredConnection): Access {
  return { token: accessToken, athleteId, vendorAthleteId, scopes, generation };
}
