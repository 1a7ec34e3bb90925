import { randomBytes } from 'node:crypto';
import { z } from 'zod';
import { DependencyUnavailable } from '#platform';
import { type Meter, type NoPermit } from '#reliability';
import { basicAuth, type CallBudget, type OAuthRequest, type VendorAccount } from '#vendors';
import { type Http, type HttpAnswer } from './http.js';
import { type Provider } from './provider.js';
import { type OfferedProvider } from './providers.js';
import { ReservedCalls } from './reserved-calls.js';
import {
  parseVendorJson,
  readTokenAnswer,
  type TokenAnswer,
  type Unclear,
  vendorId,
} from './token-answer.js';

// A token answer has about 1 KB.
const MAX_BYTES = 64 * 1024;
// The longest wait for a permit. It is short, because an athlete at a browser waits for the call.
const BUDGET_WAIT_MS = 3_000;

/** The budgets that profile requests, registrations and revocations are charged to. Some vendors count them against the rate limit. */
export interface CallBudgets {
  of(provider: Provider): CallBudget;
}

type ProfileAnswer = { readonly kind: 'known'; readonly vendorAthleteId: string } | Unclear;

type RegistrationAnswer = { readonly kind: 'registered' } | { readonly kind: 'consents_missing' } | Unclear;

/** A vendor's OAuth calls: exchange, refresh, profile, registration, revocation. Each is sent once; a failure is a value, never an exception. */
export class TokenEndpoint {
  constructor(
    private readonly http: Http,
    private readonly budgets?: CallBudgets,
  ) {}

  exchange(
    provider: OfferedProvider,
    { code, redirectUri, verifier }: { code: string; redirectUri: string; verifier?: string },
    signal: AbortSignal,
  ): Promise<TokenAnswer> {
    const form = { grant_type: 'authorization_code', code, redirect_uri: redirectUri };
    return this.requestTokens(provider, { ...form, ...(verifier && { code_verifier: verifier }) }, signal);
  }

  refresh(provider: OfferedProvider, refreshToken: string, signal: AbortSignal): Promise<TokenAnswer> {
    const form = { grant_type: 'refresh_token', refresh_token: refreshToken };
    return this.requestTokens(provider, { ...form, ...provider.facts.refreshExtras }, signal);
  }

  /**
   * Waits up to `waitMs` for the permits of the charged calls of a consent. If the budget does not allow them by then, returns the time after
   * which to retry. Undefined: no call is charged. Throws DependencyUnavailable if neither Redis nor Postgres knows the budget.
   */
  async reserve(
    { id, facts }: OfferedProvider,
    waitMs: number,
    signal: AbortSignal,
  ): Promise<ReservedCalls | { readonly retryAfterMs: number } | undefined> {
    const budget = this.budgets?.of(id);
    // A registration that meets a conflict is confirmed by a second call.
    const count = facts.registration ? 2 : facts.profile ? 1 : 0;
    if (!budget || count === 0) return undefined;
    const calls = new ReservedCalls(budget);
    const call = consentCall(facts.registration ? 'register' : 'profile');
    const refusal = await calls.take(call, count, { waitMs, signal });
    if (refusal?.kind === 'unavailable')
      throw new DependencyUnavailable('redis', { cause: new Error('the rate-limit state is unavailable') });
    return refusal ?? calls;
  }

  /** Requests the profile for the account's id, for a vendor whose token answer does not contain it. */
  async vendorAthleteId(
    { id, facts, config }: OfferedProvider,
    accessToken: string,
    signal: AbortSignal,
    reserved?: ReservedCalls,
  ): Promise<ProfileAnswer> {
    if (!facts.profile) return { kind: 'unclear' };
    try {
      const { status, body } = await this.send(
        facts.profile.request(config, accessToken),
        signal,
        this.meterOf(id, 'profile', reserved),
      );
      if (status !== 200) return { kind: 'unclear', status };
      const profile = z.record(z.string(), z.unknown()).safeParse(parseVendorJson(body));
      const { data } = vendorId.safeParse(profile.data?.[facts.profile.idField]);
      return data === undefined ? { kind: 'unclear', status } : { kind: 'known', vendorAthleteId: data };
    } catch (cause) {
      return { kind: 'unclear', cause };
    }
  }

  /**
   * Registers the athlete of a new grant, for a vendor that requires it. A registration without an answer is not repeated: the next consent of
   * the athlete registers again, and the vendor may then answer that the athlete is registered already.
   */
  async register(
    { id, facts, config }: OfferedProvider,
    account: VendorAccount,
    signal: AbortSignal,
    reserved?: ReservedCalls,
  ): Promise<RegistrationAnswer> {
    const { registration } = facts;
    if (!registration) return { kind: 'registered' };
    try {
      const memberId = randomBytes(16).toString('hex');
      const request = registration.request(config, account, memberId);
      const { status } = await this.send(request, signal, this.meterOf(id, 'register', reserved));
      if (status === 200 || status === 201) return { kind: 'registered' };
      if (status === registration.consentsMissingStatus) return { kind: 'consents_missing' };
      if (status !== registration.conflictStatus) return { kind: 'unclear', status };
      const confirmation = registration.confirmation(config, account);
      const confirmed = await this.send(confirmation, signal, this.meterOf(id, 'register', reserved));
      if (confirmed.status === 200) return { kind: 'registered' };
      if (confirmed.status === registration.consentsMissingStatus) return { kind: 'consents_missing' };
      return { kind: 'unclear', status: confirmed.status };
    } catch (cause) {
      return { kind: 'unclear', cause };
    }
  }

  /** Returns `done`, the status of a failed revocation, or undefined without an answer. */
  async revoke(
    { id, facts, config, client }: OfferedProvider,
    account: VendorAccount,
    signal?: AbortSignal,
  ): Promise<'done' | number | undefined> {
    try {
      const meter = facts.revocation.isCharged ? this.meterOf(id, 'revoke') : undefined;
      const { status } = await this.send(facts.revocation.request(config, client, account), signal, meter);
      const isGone = facts.revocation.goneStatuses?.includes(status) ?? false;
      return (status >= 200 && status < 300) || isGone ? 'done' : status;
    } catch {
      return undefined;
    }
  }

  private async requestTokens(
    { facts, config, client }: OfferedProvider,
    fields: Readonly<Record<string, string>>,
    signal: AbortSignal,
  ): Promise<TokenAnswer> {
    const request: OAuthRequest =
      facts.clientAuth === 'basic'
        ? {
            method: 'POST',
            url: facts.tokenUrl(config),
            headers: { authorization: basicAuth(client) },
            form: fields,
          }
        : {
            method: 'POST',
            url: facts.tokenUrl(config),
            form: { client_id: client.id, client_secret: client.secret, ...fields },
          };
    try {
      return readTokenAnswer(await this.send(request, signal), facts.accountField);
    } catch (cause) {
      return { kind: 'unclear', cause };
    }
  }

  private meterOf(
    provider: Provider,
    endpoint: string,
    budget: CallBudget | undefined = this.budgets?.of(provider),
  ): Meter<NoPermit> | undefined {
    if (!budget) return undefined;
    const call = consentCall(endpoint);
    return { permit: (signal) => budget.waitForPermit(call, { waitMs: BUDGET_WAIT_MS, signal }) };
  }

  private async send(
    { method, url, headers, form, json }: OAuthRequest,
    signal?: AbortSignal,
    meter?: Meter<NoPermit>,
  ): Promise<HttpAnswer> {
    const request = {
      method,
      url,
      headers: {
        accept: 'application/json',
        ...(form && { 'content-type': 'application/x-www-form-urlencoded' }),
        ...(json && { 'content-type': 'application/json' }),
        ...headers,
      },
      ...(form && { body: new URLSearchParams(form).toString() }),
      ...(json && { body: JSON.stringify(json) }),
      signal,
      maxBytes: MAX_BYTES,
      // A code works only once, a refresh token perhaps too: the callers decide about a retry, not the HTTP client.
      repeatable: false,
    };
    const outcome = await this.http.call(request, meter);
    if (outcome.kind !== 'answered') throw new Error(`The budget refused the call: ${outcome.kind}`);
    const { answer } = outcome;
    if (answer.body.length > MAX_BYTES) throw new Error('The answer is too large');
    return answer;
  }
}

/** The athlete of a charged call is not yet known here. A code can be exchanged once, so a consent does not wait for a boundary. */
function consentCall(endpoint: string) {
  return { endpoint, class: 'live', userId: null, straddles: true } as const;
}
