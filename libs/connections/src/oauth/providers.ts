import { type Config, NotFound, type VendorConfig } from '#platform';
import { type Client, isProvider, type OAuthFacts, type Provider, PROVIDERS } from './provider.js';

const MINUTE_MS = 60_000;

/** What the vendors document; a new one is an entry here and a line in the database's check. */
export const oauthFacts: Readonly<Record<Provider, OAuthFacts>> = {
  strava: {
    title: 'Strava',
    authorizeUrl: ({ oauthUrl }) => `${oauthUrl}/authorize`,
    tokenUrl: ({ oauthUrl }) => `${oauthUrl}/token`,
    // Asked one by one, so that a person may keep the private ones to themselves.
    scopes: ['read', 'activity:read', 'activity:read_all'],
    writeScopes: ['activity:write'],
    requiredScopes: [['read'], ['activity:read', 'activity:read_all']],
    scopeSeparator: ',',
    grantedScopesIn: 'redirect',
    pkce: false,
    authorizeExtras: { approval_prompt: 'auto' },
    revocation: {
      token: 'refresh',
      order: ({ oauthUrl }, { id, secret }, token) => ({
        method: 'POST',
        url: `${oauthUrl}/revoke`,
        headers: { authorization: `Basic ${Buffer.from(`${id}:${secret}`).toString('base64')}` },
        form: { token },
      }),
    },
    renewableMs: 60 * MINUTE_MS,
  },
  oura: {
    title: 'Oura',
    authorizeUrl: ({ oauthUrl }) => `${oauthUrl}/authorize`,
    tokenUrl: ({ apiUrl }) => `${apiUrl}/oauth/token`,
    scopes: ['personal', 'daily'],
    requiredScopes: [['personal'], ['daily']],
    scopeSeparator: ' ',
    grantedScopesIn: 'token answer',
    pkce: false,
    profile: {
      order: ({ apiUrl }, token) => get(`${apiUrl}/v2/usercollection/personal_info`, token),
      idField: 'id',
    },
    revocation: {
      token: 'access',
      order: ({ apiUrl }, _client, token) => ({
        method: 'POST',
        url: `${apiUrl}/oauth/revoke?access_token=${encodeURIComponent(token)}`,
      }),
    },
    renewableMs: 60 * MINUTE_MS,
  },
  whoop: {
    title: 'WHOOP',
    authorizeUrl: ({ oauthUrl }) => `${oauthUrl}/auth`,
    tokenUrl: ({ oauthUrl }) => `${oauthUrl}/token`,
    // Without `offline` there is no refresh token.
    scopes: ['offline', 'read:profile', 'read:sleep'],
    requiredScopes: [['offline'], ['read:profile'], ['read:sleep']],
    scopeSeparator: ' ',
    grantedScopesIn: 'token answer',
    pkce: false,
    refreshExtras: { scope: 'offline' },
    profile: {
      order: ({ apiUrl }, token) => get(`${apiUrl}/v2/user/profile/basic`, token),
      idField: 'user_id',
    },
    revocation: {
      token: 'access',
      order: ({ apiUrl }, _client, token) => ({
        ...get(`${apiUrl}/v2/user/access`, token),
        method: 'DELETE',
      }),
      goneStatuses: [401],
      isCharged: true,
    },
    renewableMs: 30 * MINUTE_MS,
  },
};

function get(url: string, token: string) {
  return { method: 'GET', url, headers: { authorization: `Bearer ${token}` } } as const;
}

export function titleOf(provider: Provider): string {
  return oauthFacts[provider].title;
}

/** A vendor that this deployment has a client for. */
export interface OfferedProvider {
  readonly id: Provider;
  readonly facts: OAuthFacts;
  readonly config: VendorConfig;
  readonly client: Client;
}

export class Providers {
  constructor(
    private readonly config: Pick<Config, Provider>,
    private readonly facts: Readonly<Record<Provider, OAuthFacts>> = oauthFacts,
  ) {}

  /** Throws NotFound for a name that nobody has, and for a vendor that is not configured. */
  offered(name: string): OfferedProvider {
    if (!isProvider(name)) throw new NotFound(`There is no such provider; there are ${PROVIDERS.join(', ')}`);
    const [facts, config] = [this.facts[name], this.config[name]];
    if (!config.client) throw new NotFound(`${facts.title} is not offered here`);
    return {
      id: name,
      facts: this.isWritten(name) ? withWriteScopes(facts) : facts,
      config,
      client: config.client,
    };
  }

  isOffered(id: Provider): boolean {
    return this.config[id].client !== undefined;
  }

  private isWritten(id: Provider): boolean {
    return id === 'strava' && this.config.strava.writesBack;
  }
}

function withWriteScopes(facts: OAuthFacts): OAuthFacts {
  return { ...facts, scopes: [...facts.scopes, ...(facts.writeScopes ?? [])] };
}
