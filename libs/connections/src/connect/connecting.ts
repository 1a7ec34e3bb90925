import { createHash, randomBytes } from 'node:crypto';
import { type Database, loadSql, type Logger, NotFound } from '#platform';
import { type ConnectionStore } from '../connection-store.js';
import { type Place, type Vault } from '../crypto/vault.js';
import { type Announcements } from '../listeners.js';
import { connects } from '../metrics.js';
import { type Provider } from '../oauth/provider.js';
import { type OfferedProvider, type Providers } from '../oauth/providers.js';
import { type TokenAnswer, type TokenEndpoint, type Tokens, type Unclear } from '../oauth/token-endpoint.js';
import { type Grant, type Revocations } from '../revocation/revocations.js';
import { type ConnectEnd, type ConnectOutcome } from './connect-outcome.js';
import { checkedReturnUrl } from './return-url.js';

const startFlow = loadSql(import.meta.url, '../sql/start-flow.sql');
const takeFlow = loadSql(import.meta.url, '../sql/take-flow.sql');

const SECRET_BYTES = 32;
const LONGEST_CODE = 2_048;
// The exchange and the profile together, then a revocation: a route has to answer within five seconds, database included.
const VENDOR_MS = 2_500;
const REVOKE_NOW_MS = 1_000;

/** What a vendor sends along with the browser: anybody may have written it. */
export type CallbackQuery = Readonly<Record<string, unknown>>;

export interface ConnectSettings {
  readonly publicUrl: string;
  readonly returnUrls: readonly string[];
}

interface Flow {
  readonly athlete_id: string;
  readonly return_url: string | null;
  readonly verifier: string | null;
  readonly is_live: boolean;
}

/** Connecting an account: the way to the vendor, and the way back. */
export class Connecting {
  constructor(
    private readonly settings: ConnectSettings,
    private readonly database: Database,
    private readonly vault: Vault,
    private readonly providers: Providers,
    private readonly endpoint: TokenEndpoint,
    private readonly store: ConnectionStore,
    private readonly revocations: Revocations,
    private readonly announcements: Announcements,
    private readonly logger: Logger,
  ) {}

  /** Where to send the athlete. */
  async start(athleteId: string, name: string, returnUrl?: string): Promise<{ authorizeUrl: string }> {
    const provider = this.providers.offered(name);
    const checked = returnUrl === undefined ? null : checkedReturnUrl(returnUrl, this.settings.returnUrls);
    const state = secret();
    const verifier = provider.facts.pkce ? secret() : undefined;
    const sealed = verifier && this.vault.seal(verifier, verifierPlace(athleteId, provider.id));
    const values = [hash(state), athleteId, provider.id, checked, sealed];
    const { count } = await this.database.query(startFlow, values);
    if (count === 0) throw new NotFound('This account no longer exists');
    return { authorizeUrl: this.authorizeUrl(provider, state, verifier) };
  }

  /** What came back. A state is used up by it, whatever comes of it. */
  async finish(name: string, query: CallbackQuery): Promise<ConnectOutcome> {
    const provider = this.providers.offered(name);
    const { id, facts } = provider;
    const flow = await this.takeFlow(id, query.state);
    const end: ConnectEnd = flow?.is_live ? await this.endOf(provider, flow, query) : { kind: 'stale' };
    connects.inc({ provider: id, result: end.kind });
    return { provider: id, title: facts.title, end, returnUrl: flow?.return_url ?? undefined };
  }

  private authorizeUrl(provider: OfferedProvider, state: string, verifier?: string): string {
    const { id, facts, config, client } = provider;
    const url = new URL(facts.authorizeUrl(config));
    const fields = {
      client_id: client.id,
      redirect_uri: this.redirectUri(id),
      response_type: 'code',
      scope: facts.scopes.join(facts.scopeSeparator),
      state,
      ...facts.authorizeExtras,
      ...(verifier && {
        code_challenge: hash(verifier).toString('base64url'),
        code_challenge_method: 'S256',
      }),
    };
    for (const [field, value] of Object.entries(fields)) url.searchParams.set(field, value);
    return url.href;
  }

  private redirectUri(provider: Provider): string {
    return `${this.settings.publicUrl}/oauth/${provider}/callback`;
  }

  private async takeFlow(provider: Provider, state: unknown): Promise<Flow | undefined> {
    if (typeof state !== 'string') return undefined;
    const { rows } = await this.database.query<Flow>(takeFlow, [hash(state), provider]);
    return rows[0];
  }

  private async endOf(provider: OfferedProvider, flow: Flow, query: CallbackQuery): Promise<ConnectEnd> {
    if (query.error === 'access_denied') return { kind: 'denied' };
    const { code } = query;
    if (query.error !== undefined || typeof code !== 'string' || code === '' || code.length > LONGEST_CODE)
      return { kind: 'refused' };

    const signal = AbortSignal.timeout(VENDOR_MS);
    const redirectUri = this.redirectUri(provider.id);
    const verifier = this.verifierOf(provider.id, flow);
    const answer = await this.endpoint.exchange(provider, { code, redirectUri, verifier }, signal);
    if (answer.kind !== 'granted') return this.withoutTokens(provider.id, answer);
    const whose = answer.vendorAthleteId
      ? ({ kind: 'known', vendorAthleteId: answer.vendorAthleteId } as const)
      : await this.endpoint.vendorAthleteId(provider, answer.tokens.access, signal);
    const scopes = grantedScopes(provider, query.scope, answer.scope);
    const missing = missingScopes(provider, scopes);
    if (whose.kind === 'unclear') {
      // Without the permission to read a profile nobody can tell whose grant it is, and so whether ending it hurts anyone.
      if (missing.length > 0) return { kind: 'missing_scope', missing };
      this.tellUnclear(provider.id, whose, 'nobody knows whose grant it is');
      return { kind: 'vendor_away' };
    }
    const grant = { provider: provider.id, vendorAthleteId: whose.vendorAthleteId, ...answer.tokens };
    if (missing.length > 0) {
      await this.giveBack(grant);
      return { kind: 'missing_scope', missing };
    }
    return this.keep(flow.athlete_id, scopes, grant);
  }

  private verifierOf(provider: Provider, { athlete_id, verifier }: Flow): string | undefined {
    return verifier === null ? undefined : this.vault.open(verifier, verifierPlace(athlete_id, provider));
  }

  private withoutTokens(provider: Provider, answer: Exclude<TokenAnswer, { kind: 'granted' }>): ConnectEnd {
    if (answer.kind === 'refused') return { kind: 'refused' };
    if (answer.kind === 'app_refused') {
      this.logger.error({ provider, status: answer.status }, 'the vendor does not accept our client');
      return { kind: 'app_refused' };
    }
    this.tellUnclear(provider, answer, 'a code could not be exchanged');
    return { kind: 'vendor_away' };
  }

  private tellUnclear(provider: Provider, { status, cause }: Unclear, what: string): void {
    this.logger.warn({ provider, status, err: cause }, what);
  }

  private async keep(
    athleteId: string,
    scopes: readonly string[],
    grant: Grant & Tokens,
  ): Promise<ConnectEnd> {
    const { provider, vendorAthleteId, refresh } = grant;
    // Never seen: without it the connection would end within hours.
    if (!refresh) return { kind: 'vendor_away' };
    const tokens = { ...grant, refresh };
    const kept = await this.store.keep({ athleteId, provider, vendorAthleteId, scopes, tokens }, (sql) =>
      this.revocations.withdraw(provider, vendorAthleteId, sql),
    );
    switch (kept) {
      case 'kept':
        await this.announcements.connected(athleteId, provider);
        return { kind: 'connected' };
      case 'taken':
        // Its grant is left alone: vendors end all grants of an account at once, and this one serves somebody else.
        return { kind: 'taken' };
      case 'other_account':
        await this.giveBack(grant);
        return { kind: 'other_account' };
      case 'no_athlete':
        await this.giveBack(grant);
        return { kind: 'stale' };
    }
  }

  private async giveBack(grant: Grant): Promise<void> {
    const id = await this.revocations.add(grant);
    await this.revocations.attempt(id, AbortSignal.timeout(REVOKE_NOW_MS));
  }
}

/** What was asked for and left ticked. The redirect comes by way of the browser: it cannot add what was never asked. */
function grantedScopes(
  { facts }: OfferedProvider,
  redirected: unknown,
  answered?: string,
): readonly string[] {
  if (facts.grantedScopesIn === 'redirect') return split(redirected).filter(isIn(facts.scopes));
  // RFC 6749 §5.1: left out where it is what was asked for.
  return answered === undefined ? facts.scopes : split(answered).filter(isIn(facts.scopes));
}

function missingScopes(
  { facts }: OfferedProvider,
  scopes: readonly string[],
): ReadonlyArray<readonly string[]> {
  return facts.requiredScopes.filter((choice) => !choice.some(isIn(scopes)));
}

function split(scopes: unknown): string[] {
  return typeof scopes === 'string' ? [...new Set(scopes.split(/[\s,]+/))] : [];
}

function isIn(list: readonly string[]): (item: string) => boolean {
  return (item) => list.includes(item);
}

function secret(): string {
  return randomBytes(SECRET_BYTES).toString('base64url');
}

function hash(text: string): Buffer {
  return createHash('sha256').update(text).digest();
}

function verifierPlace(athleteId: string, provider: Provider): Place {
  return { table: 'oauth_flow', owner: athleteId, provider, column: 'verifier' };
}
