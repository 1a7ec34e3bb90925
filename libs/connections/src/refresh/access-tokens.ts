import { type TimeScale } from '#platform';
import { type TokenAccess, type TokenSource, VENDORS } from '#vendors';
import { type ConnectionStore, type StoredConnection } from '../connection-store.js';
import { type Provider } from '../oauth/provider.js';
import { activeConnection, type NoToken, type Renewal } from './renewal.js';

// A token is renewed this long before its end (± 25 %), so that it does not expire during a call.
const AHEAD_MS = 5 * 60_000;
const MIN_AHEAD_MS = 2_000;
// If the renewal fails, a token that lives longer than this is still returned.
const STILL_GOOD_MS = 1_000;

/**
 * The access tokens for calls to vendors. A missing token is a value; only an outage of our own servers throws. Not guaranteed: the vendor
 * may already have revoked a token that `access` returns; a caller who gets 401 reports it to `rejected`.
 */
export class AccessTokens implements TokenSource {
  constructor(
    private readonly store: ConnectionStore,
    private readonly renewal: Renewal,
    private readonly timeScale: TimeScale,
  ) {}

  async access(athleteId: string, provider: Provider): Promise<TokenAccess> {
    const connection = await this.find(athleteId, provider);
    return 'kind' in connection ? connection : this.usable(connection);
  }

  async rejected(athleteId: string, provider: Provider, token: string): Promise<TokenAccess> {
    const connection = await this.find(athleteId, provider);
    if ('kind' in connection) return connection;
    return connection.accessToken === token ? this.renewed(connection) : this.usable(connection);
  }

  isConnected(connection: string): Promise<boolean> {
    return this.store.exists(connection);
  }

  private find(athleteId: string, provider: Provider): Promise<StoredConnection | NoToken> {
    return activeConnection(this.store, athleteId, provider);
  }

  private async usable(connection: StoredConnection): Promise<TokenAccess> {
    const { athleteId, provider, expiresInMs } = connection;
    if (expiresInMs > this.aheadMs(provider)) return tokenOf(connection);
    const renewed = await this.renewed(connection);
    if (renewed.kind !== 'notNow' || expiresInMs <= STILL_GOOD_MS) return renewed;
    const current = await this.find(athleteId, provider);
    if ('kind' in current) return current;
    return current.expiresInMs > STILL_GOOD_MS ? tokenOf(current) : renewed;
  }

  private async renewed(connection: StoredConnection): Promise<TokenAccess> {
    const renewed = await this.renewal.renewed(connection);
    return 'kind' in renewed ? renewed : tokenOf(renewed);
  }

  /** The renewal begins this long before the end of the token, at most 0.9 × `renewableMs`: earlier, the vendor returns the same token. */
  private aheadMs(provider: Provider): number {
    const jitter = 0.75 + Math.random() / 2;
    const aheadMs = Math.max(this.timeScale.wait(AHEAD_MS), MIN_AHEAD_MS) * jitter;
    return Math.min(aheadMs, this.timeScale.wait(VENDORS[provider].oauth.renewableMs) * 0.9);
  }
}

const tokenOf = ({ id, accessToken }: StoredConnection): TokenAccess => ({
  kind: 'token',
  token: accessToken,
  connection: id,
});
