import { z } from 'zod';
import { type Meter, type Refusal } from '#reliability';
import { BudgetMeter, type CallBudget, retryAfterAlone } from '../calls/budget-meter.js';
import { type Http, type HttpAnswer } from './http.js';
import { type Order, type Provider } from './provider.js';
import { type OfferedProvider } from './providers.js';
import { parseVendorJson } from './vendor-json.js';

// A token answer has about 1 KB.
const MAX_BYTES = 64 * 1024;
// A person waits for it.
const BUDGET_WAIT_MS = 3_000;

/** What the calls beside those to the token endpoint are charged to: some vendors count them as any other. */
export type Budgets = Partial<Readonly<Record<Provider, CallBudget>>>;

export interface Tokens {
  readonly access: string;
  /** Absent: the one that was used stays. */
  readonly refresh?: string;
  /** As the vendor said it, absolute and relative; each is believed by the database's clock, the earlier counts. */
  readonly expiresAtSeconds?: number;
  readonly expiresInSeconds?: number;
}

export type TokenAnswer =
  | {
      readonly kind: 'granted';
      readonly tokens: Tokens;
      readonly scope?: string;
      readonly vendorAthleteId?: string;
    }
  /** The code or refresh token is dead. */
  | { readonly kind: 'refused' }
  /** The vendor does not accept us: wrong client, inactive, or full. Says nothing about the athlete's grant. */
  | { readonly kind: 'app_refused'; readonly status: number }
  | Unclear;

/** Nobody knows what was done: no answer, a 5xx, an answer that makes no sense. */
export interface Unclear {
  readonly kind: 'unclear';
  readonly status?: number;
  readonly cause?: unknown;
}

export type ProfileAnswer = { readonly kind: 'known'; readonly vendorAthleteId: string } | Unclear;

const text = z.string().min(1).max(4_096);
const seconds = z.number().finite().min(0).max(1e11);
const vendorId = z
  .union([z.int().nonnegative(), z.string().regex(/^[\w-]{1,128}$/)])
  .transform((id) => String(id));
const tokenAnswer = z
  .object({
    access_token: text,
    refresh_token: text.nullish(),
    expires_at: seconds.nullish(),
    expires_in: seconds.nullish(),
    scope: z.string().max(4_096).nullish(),
    athlete: z.object({ id: vendorId }).nullish(),
  })
  .refine(({ expires_at, expires_in }) => (expires_at ?? expires_in) != null);

const refusal = z.object({
  error: z.string().optional().catch(undefined),
  errors: z
    .array(z.object({ resource: z.string().optional().catch(undefined) }))
    .optional()
    .catch(undefined),
});
// Of RFC 6749 §5.2 all but invalid_grant are about the app and its request; Strava names a resource instead.
const APP_ERRORS = [
  'invalid_client',
  'unauthorized_client',
  'invalid_request',
  'invalid_scope',
  'unsupported_grant_type',
];

/** The two calls that trade a secret for tokens, and the two beside them. Never throws for what the vendor did. */
export class TokenEndpoint {
  constructor(
    private readonly http: Http,
    private readonly budgets: Budgets = {},
  ) {}

  exchange(
    provider: OfferedProvider,
    { code, redirectUri, verifier }: { code: string; redirectUri: string; verifier?: string },
    signal: AbortSignal,
  ): Promise<TokenAnswer> {
    const form = { grant_type: 'authorization_code', code, redirect_uri: redirectUri };
    return this.trade(provider, { ...form, ...(verifier && { code_verifier: verifier }) }, signal);
  }

  refresh(provider: OfferedProvider, refreshToken: string, signal: AbortSignal): Promise<TokenAnswer> {
    const form = { grant_type: 'refresh_token', refresh_token: refreshToken };
    return this.trade(provider, { ...form, ...provider.facts.refreshExtras }, signal);
  }

  /** Whose token this is, where the token answer does not say. */
  async vendorAthleteId(
    { id, facts, config }: OfferedProvider,
    accessToken: string,
    signal: AbortSignal,
  ): Promise<ProfileAnswer> {
    if (!facts.profile) return { kind: 'unclear' };
    try {
      const { status, body } = await this.ask(
        facts.profile.order(config, accessToken),
        signal,
        this.meterOf(id, 'profile'),
      );
      if (status !== 200) return { kind: 'unclear', status };
      const profile = z.record(z.string(), z.unknown()).safeParse(parseVendorJson(body));
      const { data } = vendorId.safeParse(profile.data?.[facts.profile.idField]);
      return data === undefined ? { kind: 'unclear', status } : { kind: 'known', vendorAthleteId: data };
    } catch (cause) {
      return { kind: 'unclear', cause };
    }
  }

  async revoke(
    { id, facts, config, client }: OfferedProvider,
    token: string,
    signal?: AbortSignal,
  ): Promise<'done' | number | undefined> {
    try {
      const meter = facts.revocation.isCharged ? this.meterOf(id, 'revoke') : undefined;
      const { status } = await this.ask(facts.revocation.order(config, client, token), signal, meter);
      const isGone = facts.revocation.goneStatuses?.includes(status) ?? false;
      return (status >= 200 && status < 300) || isGone ? 'done' : status;
    } catch {
      return undefined;
    }
  }

  private async trade(
    { facts, config, client }: OfferedProvider,
    fields: Readonly<Record<string, string>>,
    signal: AbortSignal,
  ): Promise<TokenAnswer> {
    const form = { client_id: client.id, client_secret: client.secret, ...fields };
    try {
      const order = { method: 'POST', url: facts.tokenUrl(config), form } as const;
      return understood(await this.ask(order, signal));
    } catch (cause) {
      return { kind: 'unclear', cause };
    }
  }

  private meterOf(provider: Provider, endpoint: string): Meter<Refusal> | undefined {
    const budget = this.budgets[provider];
    const call = { endpoint, class: 'live', userId: null } as const;
    return budget && new BudgetMeter(budget, call, { readRates: retryAfterAlone, waitMs: BUDGET_WAIT_MS });
  }

  private async ask(
    { method, url, headers, form }: Order,
    signal?: AbortSignal,
    meter?: Meter<Refusal>,
  ): Promise<HttpAnswer> {
    const request = {
      method,
      url,
      headers: {
        accept: 'application/json',
        ...(form && { 'content-type': 'application/x-www-form-urlencoded' }),
        ...headers,
      },
      ...(form && { body: new URLSearchParams(form).toString() }),
      signal,
      maxBytes: MAX_BYTES,
      // A code works once, and a refresh token may: whether to try again is decided here, not on the wire.
      repeatable: false,
    };
    const outcome = await this.http.call(request, meter);
    if (outcome.kind !== 'answered') throw new Error(`The budget does not allow it now: ${outcome.kind}`);
    const { answer } = outcome;
    if (answer.body.length > MAX_BYTES) throw new Error('The answer is too large');
    return answer;
  }
}

function understood({ status, body }: HttpAnswer): TokenAnswer {
  const json = parseVendorJson(body);
  if (status === 200 || status === 201) return granted(json, status);
  if (status === 403) return { kind: 'app_refused', status };
  if (status !== 400 && status !== 401) return { kind: 'unclear', status };
  const { data } = refusal.safeParse(json);
  // Not JSON: some proxy's page, and no word of the vendor.
  if (!data) return { kind: 'unclear', status };
  const isAboutApp =
    APP_ERRORS.includes(data.error ?? '') ||
    (data.errors?.some(({ resource }) => resource === 'Application') ?? false);
  return isAboutApp ? { kind: 'app_refused', status } : { kind: 'refused' };
}

function granted(json: unknown, status: number): TokenAnswer {
  const { data } = tokenAnswer.safeParse(json);
  if (!data) return { kind: 'unclear', status };
  return {
    kind: 'granted',
    tokens: {
      access: data.access_token,
      refresh: data.refresh_token ?? undefined,
      expiresAtSeconds: data.expires_at ?? undefined,
      expiresInSeconds: data.expires_in ?? undefined,
    },
    scope: data.scope ?? undefined,
    vendorAthleteId: data.athlete?.id,
  };
}
