import { type Logger } from '#platform';
import { titleOf } from '#vendors';
import { VendorUnreachable } from '../errors.js';
import { type Provider, redirectUri } from '../oauth/provider.js';
import { type OfferedProvider, type Providers } from '../oauth/providers.js';
import { grantedScopes, missingScopes } from '../oauth/scopes.js';
import { type TokenAnswer, type Unclear } from '../oauth/token-answer.js';
import { ReservedCalls } from '../oauth/reserved-calls.js';
import { type TokenEndpoint } from '../oauth/token-endpoint.js';
import { type Grant } from '../revocation/revocations.js';
import { type ConfirmEnd, type ConfirmOutcome, connects } from './connect-outcome.js';
import { type Confirmer, type OAuthFlows, type TakenConsent } from './oauth-flows.js';
import { type NewConnections } from './new-connections.js';

// The time for the exchange, the profile request and the registration together, including the wait for permits. The route has to answer within
// 4.25 s: the rest is for the connection's row and for the listeners, which begin an import.
const VENDOR_MS = 3_200;
// A consent waits only for the pause after a window that began with a request (Polar's), or at any boundary while Redis is away. The rest of
// VENDOR_MS is for the calls. If the pause is longer, the confirmation is refused with the time to retry.
const LONGEST_BUDGET_WAIT_MS = 1_900;

/**
 * Exchanges the code of a confirmed consent and stores the connection. A confirmation works once, even if it fails: vendors end the grant when
 * a code is exchanged twice. While the vendor's budget does not allow all charged calls, the confirmation is not used up and VendorUnreachable
 * says when to repeat it. A grant that is not stored is revoked later, by a worker. Not guaranteed: if a process dies between the vendor's
 * answer and our commit, the tokens of the grant are lost. No client can use that grant. It ends when the athlete connects again or removes
 * the app at the vendor.
 */
export class ConsentConfirmation {
  constructor(
    private readonly settings: { readonly publicUrl: string },
    private readonly flows: OAuthFlows,
    private readonly providers: Providers,
    private readonly endpoint: TokenEndpoint,
    private readonly newConnections: NewConnections,
    private readonly logger: Logger,
  ) {}

  async confirm(name: string, confirm: string, confirmer: Confirmer): Promise<ConfirmOutcome> {
    const provider = this.providers.offered(name);
    const { id } = provider;
    const signal = AbortSignal.timeout(VENDOR_MS);
    // A consent that is unknown or lapsed waits for no budget.
    const isLive = await this.flows.isLive(id, confirm, confirmer);
    const calls = isLive ? await this.reserved(provider, signal) : undefined;
    try {
      const consent = await this.flows.take(id, confirm, confirmer);
      const end: ConfirmEnd =
        typeof consent === 'string'
          ? { kind: consent }
          : await this.exchanged(provider, consent, signal, calls);
      connects.inc({ provider: id, result: end.kind });
      return { provider: id, title: titleOf(id), end };
    } finally {
      await calls?.release();
    }
  }

  /** Discards the vendor's code unused, so that no token is issued. */
  async decline(name: string, confirm: string, confirmer: Confirmer): Promise<{ readonly title: string }> {
    const { id } = this.providers.offered(name);
    await this.flows.take(id, confirm, confirmer);
    connects.inc({ provider: id, result: 'declined' });
    return { title: titleOf(id) };
  }

  private async reserved(provider: OfferedProvider, signal: AbortSignal): Promise<ReservedCalls | undefined> {
    const calls = await this.endpoint.reserve(provider, LONGEST_BUDGET_WAIT_MS, signal);
    if (!calls || calls instanceof ReservedCalls) return calls;
    throw new VendorUnreachable(provider.id, Math.max(1, Math.ceil(calls.retryAfterMs / 1_000)));
  }

  private async exchanged(
    provider: OfferedProvider,
    consent: TakenConsent,
    signal: AbortSignal,
    calls?: ReservedCalls,
  ): Promise<ConfirmEnd> {
    const { id, facts } = provider;
    const { athleteId, code, scope, verifier } = consent;
    const request = { code, redirectUri: redirectUri(this.settings.publicUrl, id), verifier };
    const answer = await this.endpoint.exchange(provider, request, signal);
    if (answer.kind !== 'granted') return this.withoutTokens(id, answer);
    const profile = answer.vendorAthleteId
      ? ({ kind: 'known', vendorAthleteId: answer.vendorAthleteId } as const)
      : await this.endpoint.vendorAthleteId(provider, answer.tokens.access, signal, calls);
    const scopes = grantedScopes(facts, scope, answer.scope);
    const missing = missingScopes(facts, scopes);
    if (profile.kind === 'unclear') {
      // Without the permission to read the profile, the grant's account is unknown: ending the grant could end another connection.
      if (missing.length > 0) return { kind: 'missing_scope', missing };
      this.logUnclear(id, profile, 'the account of a grant is unknown');
      return { kind: 'vendor_away' };
    }
    const grant = { provider: id, vendorAthleteId: profile.vendorAthleteId, ...answer.tokens };
    if (missing.length > 0) {
      await this.newConnections.revoke(grant);
      return { kind: 'missing_scope', missing };
    }
    // Without the expected refresh token the connection would end within hours. Not observed at any vendor.
    if (!grant.refresh && facts.refresh !== 'none') return this.dropped(grant);
    const account = { token: grant.access, vendorAthleteId: grant.vendorAthleteId };
    const registration = await this.endpoint.register(provider, account, signal, calls);
    if (registration.kind === 'unclear') {
      this.logUnclear(id, registration, 'an athlete could not be registered');
      return this.dropped(grant);
    }
    if (registration.kind === 'consents_missing') return registration;
    return this.newConnections.connect(athleteId, scopes, grant);
  }

  private async dropped(grant: Grant): Promise<ConfirmEnd> {
    await this.newConnections.revoke(grant);
    return { kind: 'vendor_away' };
  }

  private withoutTokens(provider: Provider, answer: Exclude<TokenAnswer, { kind: 'granted' }>): ConfirmEnd {
    if (answer.kind === 'refused') return { kind: 'refused' };
    if (answer.kind === 'app_refused') {
      this.logger.error({ provider, status: answer.status }, 'the vendor does not accept our client');
      return { kind: 'app_refused' };
    }
    this.logUnclear(provider, answer, 'a code could not be exchanged');
    return { kind: 'vendor_away' };
  }

  private logUnclear(provider: Provider, { status, cause }: Unclear, message: string): void {
    this.logger.warn({ provider, status, err: cause }, message);
  }
}
