import { setTimeout as pause } from 'node:timers/promises';
import { Counter } from 'prom-client';
import {
  DependencyUnavailable,
  leaseLength,
  type Logger,
  OneAtATime,
  startAtZero,
  type TimeScale,
} from '#platform';
import { type TokenAccess, VENDOR_IDS, VENDORS } from '#vendors';
import { type RefreshClaim, type ConnectionStore, type StoredConnection } from '../connection-store.js';
import { type Provider } from '../oauth/provider.js';
import { type OfferedProvider, type Providers } from '../oauth/providers.js';
import { type TokenAnswer, type Tokens } from '../oauth/token-answer.js';
import { type TokenEndpoint } from '../oauth/token-endpoint.js';
import { type Revocations } from '../revocation/revocations.js';

// TIME_SCALE does not shorten calls over a network.
const ATTEMPT_MS = 4_500;
const SECOND_ATTEMPT_AFTER_MS = 200;
const LONGEST_REFRESH_MS = 2 * ATTEMPT_MS + 2 * SECOND_ATTEMPT_AFTER_MS;
// If the new tokens are not stored, the athlete has to connect again: the vendor may have ended the old refresh token.
const STORE_PAUSES_MS = [100, 300, 900, 2_700];

const LEASE_MS = 30_000;
const COOLDOWN_MS = 10_000;
const MAX_WAIT_MS = 15_000;
const FIRST_POLL_MS = 40;
const LONGEST_POLL_MS = 500;

export const refreshes = new Counter({
  name: 'oauth_refreshes_total',
  help: 'Refreshes of an access token that this process requested from a vendor',
  labelNames: ['provider', 'result'],
});
startAtZero(
  refreshes,
  VENDOR_IDS.flatMap((provider) =>
    ['granted', 'refused', 'app_refused', 'unclear'].map((result) => ({ provider, result })),
  ),
);

/** Why there is no token now. */
export type NoToken = Exclude<TokenAccess, { kind: 'token' }>;

/** Returns the athlete's connection while the vendor's grant lasts. */
export async function activeConnection(
  store: ConnectionStore,
  athleteId: string,
  provider: Provider,
): Promise<StoredConnection | NoToken> {
  const { title } = VENDORS[provider];
  const connection = await store.find(athleteId, provider);
  if (!connection) return { kind: 'revoked', reason: `${title} is not connected` };
  if (connection.status !== 'needs_reauth') return connection;
  return { kind: 'revoked', reason: `${title} has ended the connection: connect it again` };
}

export interface RenewalTimes {
  /** The lease of a refresh, by the database's clock. No other process claims the refresh before the lease ends. */
  readonly leaseMs: number;
  /** How long no process refreshes this connection after a refresh without a clear answer. */
  readonly cooldownMs: number;
  /** The time that a caller waits for a refresh by another process. */
  readonly maxWaitMs: number;
}

export function renewalTimes(timeScale: TimeScale): RenewalTimes {
  return {
    // The lease is longer than the longest refresh. Otherwise a second process could refresh while the first process still does.
    leaseMs: leaseLength(timeScale, LEASE_MS, LONGEST_REFRESH_MS + 2_600),
    cooldownMs: timeScale.sweep(COOLDOWN_MS),
    maxWaitMs: MAX_WAIT_MS,
  };
}

/**
 * Renews a connection's tokens, once for all callers in all processes. The process that claims the refresh calls the vendor. The other
 * processes read the row every 20 to 750 ms, for 15 s at most, until its tokens have changed. No transaction is open during the call.
 * Every process reads the result from the row, because another refresh may have written newer tokens.
 *
 * | attempt                                          | after          | cumulative      |
 * | ------------------------------------------------ | -------------- | --------------- |
 * | 1st call to the vendor                           | 0              | 4.5 s at most   |
 * | 2nd call, if the first was unclear, but not 429  | 0.1 … 0.3 s    | 9.3 s at most   |
 * | next refresh, by any process                     | 10 s           |                 |
 *
 * The new tokens are stored at once. While Postgres is away, the process tries again 0.1, 0.4, 1.3 and 4 s later. Not guaranteed: new
 * tokens are lost if the process dies before it stores them. A vendor that rotates refresh tokens then rejects the next refresh, and the
 * athlete has to connect again.
 */
export class Renewal {
  private readonly running = new OneAtATime<StoredConnection | NoToken>();

  constructor(
    private readonly store: ConnectionStore,
    private readonly endpoint: TokenEndpoint,
    private readonly providers: Providers,
    private readonly revocations: Revocations,
    private readonly times: RenewalTimes,
    private readonly logger: Logger,
  ) {}

  /** Returns newer tokens than those of `seen`. */
  renewed(seen: StoredConnection): Promise<StoredConnection | NoToken> {
    return this.running.run(`${seen.id} ${seen.tokenFence}`, () => this.renew(seen));
  }

  /** A failure in the future was written before Postgres' clock was set back. It is over. */
  private isCoolingDown({ failedMsAgo }: StoredConnection): boolean {
    return failedMsAgo >= 0 && failedMsAgo < this.times.cooldownMs;
  }

  private unreachable({ provider }: StoredConnection): NoToken {
    const reason = `${VENDORS[provider].title} cannot be reached`;
    const retryAfterMs = Math.max(1_000, this.times.cooldownMs);
    return { kind: 'notNow', because: 'tokenUnavailable', retryAfterMs, reason };
  }

  private async renew(seen: StoredConnection): Promise<StoredConnection | NoToken> {
    const provider = this.providers.offered(seen.provider);
    const { leaseMs, cooldownMs, maxWaitMs } = this.times;
    const endsAt = performance.now() + maxWaitMs;
    let current = seen;
    for (let pollMs = FIRST_POLL_MS; ; pollMs = Math.min(pollMs * 1.5, LONGEST_POLL_MS)) {
      if (this.isCoolingDown(current)) return this.unreachable(seen);
      const claim = await this.store.claimRefresh(seen, leaseMs, cooldownMs);
      if (claim) await this.refresh(provider, seen, claim);
      else await pause(pollMs * (0.5 + Math.random()));

      const found = await activeConnection(this.store, seen.athleteId, seen.provider);
      if ('kind' in found || found.id !== seen.id || found.tokenFence !== seen.tokenFence) return found;
      if (performance.now() > endsAt) return this.unreachable(seen);
      current = found;
    }
  }

  private async refresh(
    provider: OfferedProvider,
    seen: StoredConnection,
    claim: RefreshClaim,
  ): Promise<void> {
    // Without a refresh token only the athlete can get a new token, as after a refusal.
    if (claim.refreshToken === undefined) return this.store.endRefresh(seen, claim.fence, 'refused');
    const answer = await this.refreshTwice(provider, claim.refreshToken);
    refreshes.inc({ provider: provider.id, result: answer.kind });
    switch (answer.kind) {
      case 'granted':
        return this.storeTokens(seen, claim.fence, answer.tokens);
      case 'refused':
        return this.store.endRefresh(seen, claim.fence, 'refused');
      case 'app_refused':
      case 'unclear': {
        const { status } = answer;
        const facts = { provider: provider.id, status, err: 'cause' in answer ? answer.cause : undefined };
        if (answer.kind === 'app_refused') this.logger.error(facts, 'the vendor does not accept our client');
        else this.logger.warn(facts, 'a refresh got no clear answer');
        return this.store.endRefresh(seen, claim.fence, 'unclear');
      }
    }
  }

  /**
   * After an unclear answer the vendor may have rotated the token. Some vendors accept the old token for a short time then, so one more
   * attempt may still get the new tokens.
   */
  private async refreshTwice(provider: OfferedProvider, refreshToken: string): Promise<TokenAnswer> {
    const attempt = () => this.endpoint.refresh(provider, refreshToken, AbortSignal.timeout(ATTEMPT_MS));
    const first = await attempt();
    if (first.kind !== 'unclear' || first.status === 429) return first;
    await pause(SECOND_ATTEMPT_AFTER_MS * (0.5 + Math.random()));
    return attempt();
  }

  private async storeTokens(seen: StoredConnection, fence: string, tokens: Tokens): Promise<void> {
    for (const pauseMs of [...STORE_PAUSES_MS, undefined]) {
      try {
        const isStored = await this.store.storeRefreshed(seen, fence, tokens);
        return isStored ? undefined : await this.revokeOrphan(seen, tokens);
      } catch (error) {
        if (!(error instanceof DependencyUnavailable) || pauseMs === undefined) throw error;
        await pause(pauseMs);
      }
    }
  }

  /** Queues a revocation of the new tokens if the athlete disconnected meanwhile. If the account is connected, `add` does nothing. */
  private async revokeOrphan({ provider, vendorAthleteId }: StoredConnection, tokens: Tokens): Promise<void> {
    await this.revocations.add({ provider, vendorAthleteId, ...tokens });
  }
}
