import { setTimeout as pause } from 'node:timers/promises';
import { DependencyUnavailable, type Logger, OneAtATime, type TimeScale } from '#platform';
import { type Claim, type ConnectionStore, type StoredConnection } from '../connection-store.js';
import { NeedsReauth, NotConnected, VendorUnreachable } from '../errors.js';
import { refreshes } from '../metrics.js';
import { type OfferedProvider, type Providers } from '../oauth/providers.js';
import { type TokenAnswer, type TokenEndpoint, type Tokens } from '../oauth/token-endpoint.js';
import { type Revocations } from '../revocation/revocations.js';

// Real time: a network is not faster in a faster world.
const ATTEMPT_MS = 4_500;
const SECOND_TRY_AFTER_MS = 200;
const LONGEST_REFRESH_MS = 2 * ATTEMPT_MS + 2 * SECOND_TRY_AFTER_MS;
// An answer that is not stored is a connection lost, so a database that is away for a moment is waited for.
const STORE_PAUSES_MS = [100, 300, 900, 2_700];

const LEASE_MS = 30_000;
const COOLDOWN_MS = 10_000;
const PATIENCE_MS = 15_000;
const FIRST_LOOK_MS = 40;
const LONGEST_LOOK_MS = 500;

export interface RenewalTimes {
  /** How long a refresh under way keeps others out. Judged by the database's clock. */
  readonly leaseMs: number;
  /** How long a vendor that did not answer is left alone, by all processes. */
  readonly cooldownMs: number;
  /** How long somebody waits for a refresh that others are doing. */
  readonly patienceMs: number;
}

export function renewalTimes(timeScale: TimeScale): RenewalTimes {
  return {
    // Longer than the longest refresh, or two would be under way in good health.
    leaseMs: Math.max(timeScale.guard(LEASE_MS), LONGEST_REFRESH_MS + 2_600),
    cooldownMs: timeScale.sweep(COOLDOWN_MS),
    patienceMs: PATIENCE_MS,
  };
}

/**
 * Renews a connection's tokens once, however many processes want it. Whoever gets the lease asks the vendor; the others
 * look at the row until its tokens have changed. No transaction is open meanwhile, and what became of it is always read
 * from the row, never concluded from one's own call: a slower or a faster refresh may have come in between.
 */
export class Renewal {
  private readonly running = new OneAtATime<StoredConnection>();

  constructor(
    private readonly store: ConnectionStore,
    private readonly endpoint: TokenEndpoint,
    private readonly providers: Providers,
    private readonly revocations: Revocations,
    private readonly times: RenewalTimes,
    private readonly logger: Logger,
  ) {}

  /** Newer tokens than those of `seen`. Throws NotConnected, NeedsReauth or VendorUnreachable. */
  renewed(seen: StoredConnection): Promise<StoredConnection> {
    return this.running.run(`${seen.id} ${seen.tokenFence}`, () => this.renew(seen));
  }

  private isCoolingDown({ failedMsAgo }: StoredConnection): boolean {
    return failedMsAgo < this.times.cooldownMs;
  }

  private unreachable({ provider }: StoredConnection): VendorUnreachable {
    return new VendorUnreachable(provider, Math.max(1, Math.ceil(this.times.cooldownMs / 1_000)));
  }

  private async renew(seen: StoredConnection): Promise<StoredConnection> {
    const provider = this.providers.offered(seen.provider);
    const { leaseMs, cooldownMs, patienceMs } = this.times;
    const endsAt = performance.now() + patienceMs;
    let current = seen;
    for (let look = FIRST_LOOK_MS; ; look = Math.min(look * 1.5, LONGEST_LOOK_MS)) {
      if (this.isCoolingDown(current)) throw this.unreachable(current);
      const claim = await this.store.claimRefresh(seen, leaseMs, cooldownMs);
      if (claim) await this.refresh(provider, seen, claim);
      else await pause(look * (0.5 + Math.random()));

      current = await this.lookAgain(seen);
      if (current.id !== seen.id || current.tokenFence !== seen.tokenFence) return current;
      if (performance.now() > endsAt) throw this.unreachable(current);
    }
  }

  private async lookAgain({ athleteId, provider }: StoredConnection): Promise<StoredConnection> {
    const current = await this.store.find(athleteId, provider);
    if (!current) throw new NotConnected(provider);
    if (current.status === 'needs_reauth') throw new NeedsReauth(provider);
    return current;
  }

  private async refresh(provider: OfferedProvider, seen: StoredConnection, claim: Claim): Promise<void> {
    const answer = await this.askTwice(provider, claim.refreshToken);
    refreshes.inc({ provider: provider.id, result: answer.kind });
    switch (answer.kind) {
      case 'granted':
        return this.keep(seen, claim.fence, answer.tokens);
      case 'refused':
        return this.store.endRefresh(seen, claim.fence, 'refused');
      case 'app_refused':
      case 'unclear': {
        const { status } = answer;
        const facts = { provider: provider.id, status, err: 'cause' in answer ? answer.cause : undefined };
        if (answer.kind === 'app_refused') this.logger.error(facts, 'the vendor does not accept our client');
        else this.logger.warn(facts, 'a refresh brought no answer');
        return this.store.endRefresh(seen, claim.fence, 'unclear');
      }
    }
  }

  /**
   * Where nobody knows what became of the first call, the vendor may have rotated the token and its answer been lost:
   * vendors let the old token work a moment longer for that.
   */
  private async askTwice(provider: OfferedProvider, refreshToken: string): Promise<TokenAnswer> {
    const ask = () => this.endpoint.refresh(provider, refreshToken, AbortSignal.timeout(ATTEMPT_MS));
    const first = await ask();
    if (first.kind !== 'unclear' || first.status === 429) return first;
    await pause(SECOND_TRY_AFTER_MS * (0.5 + Math.random()));
    return ask();
  }

  private async keep(seen: StoredConnection, fence: string, tokens: Tokens): Promise<void> {
    for (const pauseMs of [...STORE_PAUSES_MS, undefined]) {
      try {
        const isStored = await this.store.storeRefreshed(seen, fence, tokens);
        return isStored ? undefined : await this.endOrphan(seen, tokens);
      } catch (error) {
        if (!(error instanceof DependencyUnavailable) || pauseMs === undefined) throw error;
        await pause(pauseMs);
      }
    }
  }

  /** Disconnected while the answer was under way: what was revoked then was the token before this one. */
  private async endOrphan({ provider, vendorAthleteId }: StoredConnection, tokens: Tokens): Promise<void> {
    await this.revocations.add({ provider, vendorAthleteId, ...tokens });
  }
}
