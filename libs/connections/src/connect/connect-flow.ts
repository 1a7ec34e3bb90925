import { NotFound } from '#platform';
import { titleOf } from '#vendors';
import { redirectUri } from '../oauth/provider.js';
import { type OfferedProvider, type Providers } from '../oauth/providers.js';
import { knownScopes, missingScopes } from '../oauth/scopes.js';
import { type CallbackEnd, type CallbackOutcome, connects } from './connect-outcome.js';
import { type OAuthFlows, sha256, newSecret } from './oauth-flows.js';
import { checkedReturnUrl } from './return-url.js';

const MAX_CODE_LENGTH = 2_048;

/** The query of the vendor's callback. It comes through a browser, so any client may have written it. */
export type CallbackQuery = Readonly<Record<string, unknown>>;

interface ConnectSettings {
  readonly publicUrl: string;
  readonly returnUrls: readonly string[];
}

interface ConnectOptions {
  readonly returnUrl?: string;
  /** The account's name on our confirmation page. Taken from the verified token, never from the request. */
  readonly account?: string;
  /** The service key or the operator that begins for the athlete; only the same one may confirm with a token. */
  readonly begunBy?: string;
}

/**
 * The OAuth redirect to the vendor and the callback. A consent at the vendor connects nothing by itself: the athlete who began could have
 * sent the link to another person (RFC 9700 §4.7). `ConsentConfirmation` connects only after a confirmation:
 * by that athlete with a token, or by the browser that has the cookie of our page.
 */
export class ConnectFlow {
  constructor(
    private readonly settings: ConnectSettings,
    private readonly flows: OAuthFlows,
    private readonly providers: Providers,
  ) {}

  /** Returns the vendor's URL for the athlete's browser. */
  async start(
    athleteId: string,
    name: string,
    { returnUrl, account, begunBy }: ConnectOptions = {},
  ): Promise<{ authorizeUrl: string }> {
    const provider = this.providers.offered(name);
    const checked = returnUrl === undefined ? null : checkedReturnUrl(returnUrl, this.settings.returnUrls);
    const state = newSecret();
    const verifier = provider.facts.pkce ? newSecret() : undefined;
    const flow = { athleteId, provider: provider.id, state, returnUrl: checked, verifier, account, begunBy };
    if (!(await this.flows.start(flow))) throw new NotFound('This account no longer exists');
    return { authorizeUrl: this.authorizeUrl(provider, state, verifier) };
  }

  /**
   * Handles a callback. A failed callback uses up the state as well. `browser` is the secret of a cookie: the browser with that cookie may
   * confirm on our own page.
   */
  async finish(name: string, query: CallbackQuery, browser?: string): Promise<CallbackOutcome> {
    const provider = this.providers.offered(name);
    const { id } = provider;
    const { end, returnUrl } = await this.handleCallback(provider, query, browser);
    if (end.kind !== 'confirm') connects.inc({ provider: id, result: end.kind });
    return { provider: id, title: titleOf(id), end, returnUrl };
  }

  private async handleCallback(
    { id, facts }: OfferedProvider,
    query: CallbackQuery,
    browser?: string,
  ): Promise<{ end: CallbackEnd; returnUrl?: string }> {
    const { state } = query;
    if (typeof state !== 'string') return { end: { kind: 'stale' } };
    const refusal = refusalOf(query);
    const scopes = knownScopes(facts, query.scope);
    const missing = facts.grantedScopesIn === 'redirect' ? missingScopes(facts, scopes) : [];
    if (refusal || missing.length > 0) {
      const flow = await this.flows.end(id, state);
      const end = refusal ?? ({ kind: 'missing_scope', missing } as const);
      return { end: flow?.isLive ? end : { kind: 'stale' }, returnUrl: flow?.returnUrl };
    }
    const consent = { code: String(query.code), scope: scopes.join(' ') };
    const stored = await this.flows.storeCode(id, state, consent, browser);
    if (!stored?.isLive) return { end: { kind: 'stale' }, returnUrl: stored?.returnUrl };
    const { confirm, account, returnUrl } = stored;
    return { end: { kind: 'confirm', confirm, account }, returnUrl };
  }

  private authorizeUrl(provider: OfferedProvider, state: string, verifier?: string): string {
    const { id, facts, config, client } = provider;
    const url = new URL(facts.authorizeUrl(config));
    const fields = {
      client_id: client.id,
      redirect_uri: redirectUri(this.settings.publicUrl, id),
      response_type: 'code',
      scope: facts.scopes.join(facts.scopeSeparator),
      state,
      ...facts.authorizeExtras,
      ...(verifier && {
        code_challenge: sha256(verifier).toString('base64url'),
        code_challenge_method: 'S256',
      }),
    };
    for (const [field, value] of Object.entries(fields)) url.searchParams.set(field, value);
    return url.href;
  }
}

function refusalOf({ error, code }: CallbackQuery): CallbackEnd | undefined {
  if (error === 'access_denied') return { kind: 'denied' };
  if (error !== undefined || typeof code !== 'string' || code === '' || code.length > MAX_CODE_LENGTH)
    return { kind: 'refused' };
  return undefined;
}
