import { randomBytes } from 'node:crypto';
import { type VendorClock } from './clock.js';
import { type StatePart } from './memory.js';

/** The rules of a vendor's tokens. All times except `codeLifetimeSeconds` are divided by TIME_SCALE. */
export interface TokenPolicy {
  readonly lifetimeSeconds: number;
  readonly codeLifetimeSeconds?: number;
  /** While more than this share of the access token's lifetime is left, a refresh returns the same tokens. */
  readonly keepAboveShare?: number;
  /** True: a refresh that makes a new access token also makes a new refresh token. */
  readonly rotates: boolean;
  /** How long a rotated refresh token still works. At 0 a rotated token stops working at once. */
  readonly graceSeconds?: number;
}

export interface TokenPair {
  readonly accessToken: string;
  readonly refreshToken: string;
  readonly expiresAtSeconds: number;
  readonly expiresInSeconds: number;
  readonly athleteId: string;
  readonly scopes: readonly string[];
}

interface Consent {
  readonly athleteId: string;
  readonly scopes: readonly string[];
  readonly redirectUri?: string;
}

type TokenState = 'valid' | 'expired' | 'revoked';

export interface TokenInfo {
  readonly state: TokenState;
  readonly grantId: number;
  readonly athleteId: string;
  readonly scopes: readonly string[];
}

// Minimum real lifetime at any scale, because a client needs time to use a token.
const SHORTEST_LIFE_SECONDS = 5;
const CODE_LIFE_SECONDS = 600;

interface Grant {
  readonly id: number;
  readonly athleteId: string;
  readonly scopes: readonly string[];
  isRevoked: boolean;
  accessToken: string;
  refreshToken: string;
  expiresAtMs: number;
}

interface IssuedCode {
  readonly consent: Consent;
  readonly expiresAtMs: number;
}

interface SavedTokens {
  readonly codes: readonly (readonly [string, IssuedCode])[];
  readonly grants: readonly Grant[];
  /** Replaced tokens of a grant that still work: access tokens until they expire, refresh tokens until their grace ends. */
  readonly olderAccess: readonly OlderToken[];
  readonly olderRefresh: readonly OlderToken[];
  readonly nextGrantId: number;
}

type OlderToken = readonly [token: string, grantId: number, endsAtMs: number];

/**
 * Codes, access tokens and refresh tokens of one vendor. A code works once. The store keeps revoked and expired tokens,
 * so that `find` can return their state. The saved state leaves out replaced tokens that have expired.
 */
export class TokenStore implements StatePart<SavedTokens> {
  private readonly codes = new Map<string, IssuedCode>();
  private readonly access = new Map<string, { grant: Grant; expiresAtMs: number }>();
  private readonly refreshing = new Map<string, { grant: Grant; diesAtMs: number }>();
  private readonly grants = new Map<string, Grant[]>();
  private nextGrantId = 1;

  constructor(
    private readonly clock: VendorClock,
    readonly policy: TokenPolicy,
  ) {}

  reset(): void {
    this.codes.clear();
    this.access.clear();
    this.refreshing.clear();
    this.grants.clear();
  }

  save(): SavedTokens {
    const nowMs = this.clock.nowMs();
    return {
      codes: [...this.codes].filter(([, { expiresAtMs }]) => expiresAtMs > nowMs),
      grants: [...this.grants.values()].flat(),
      olderAccess: [...this.access].flatMap(([token, { grant, expiresAtMs }]) =>
        token !== grant.accessToken && expiresAtMs > nowMs ? [[token, grant.id, expiresAtMs] as const] : [],
      ),
      olderRefresh: [...this.refreshing].flatMap(([token, { grant, diesAtMs }]) =>
        token !== grant.refreshToken && diesAtMs > nowMs ? [[token, grant.id, diesAtMs] as const] : [],
      ),
      nextGrantId: this.nextGrantId,
    };
  }

  restore({ codes, grants, olderAccess, olderRefresh, nextGrantId }: SavedTokens): void {
    for (const [code, issued] of codes) this.codes.set(code, issued);
    const byId = new Map(grants.map((grant) => [grant.id, { ...grant }]));
    byId.forEach((grant) => this.remember(grant));
    for (const [token, id, expiresAtMs] of olderAccess)
      this.access.set(token, { grant: byId.get(id)!, expiresAtMs });
    for (const [token, id, diesAtMs] of olderRefresh)
      this.refreshing.set(token, { grant: byId.get(id)!, diesAtMs });
    this.nextGrantId = nextGrantId;
  }

  issueCode(consent: Consent): string {
    const code = randomToken();
    // People and scripts copy codes by hand, so a code lives ten minutes at any scale.
    const lifeSeconds = this.policy.codeLifetimeSeconds ?? CODE_LIFE_SECONDS;
    this.codes.set(code, { consent, expiresAtMs: this.clock.nowMs() + lifeSeconds * 1000 });
    return code;
  }

  /** The athlete who consented; undefined for an unknown or used code. */
  ownerOfCode(code: string): string | undefined {
    return this.codes.get(code)?.consent.athleteId;
  }

  /** The redirect URL with which the code was asked for; the app has to repeat it in the exchange. */
  redirectOfCode(code: string): string | undefined {
    return this.codes.get(code)?.consent.redirectUri;
  }

  /** A code works once. */
  exchange(code: string): TokenPair | undefined {
    const issued = this.codes.get(code);
    this.codes.delete(code);
    if (!issued || issued.expiresAtMs <= this.clock.nowMs()) return undefined;
    return this.grant(issued.consent);
  }

  grant({ athleteId, scopes }: Consent): TokenPair {
    const id = this.nextGrantId++;
    const grant: Grant = {
      id,
      athleteId,
      scopes,
      isRevoked: false,
      accessToken: '',
      refreshToken: '',
      expiresAtMs: 0,
    };
    this.grants.set(athleteId, [...(this.grants.get(athleteId) ?? []), grant]);
    this.renewAccess(grant);
    this.renewRefresh(grant);
    return this.pair(grant);
  }

  /** Undefined if the refresh token is unknown or revoked, or if it was rotated and its grace has ended. */
  refresh(refreshToken: string): TokenPair | undefined {
    const known = this.refreshing.get(refreshToken);
    if (!known || known.grant.isRevoked || known.diesAtMs <= this.clock.nowMs()) return undefined;
    const { grant } = known;
    if (this.isStillFresh(grant)) return this.pair(grant);
    this.renewAccess(grant);
    if (this.policy.rotates && grant.refreshToken === refreshToken) this.renewRefresh(grant);
    return this.pair(grant);
  }

  find(accessToken: string): TokenInfo | undefined {
    const known = this.access.get(accessToken);
    if (!known) return undefined;
    const { id, athleteId, scopes, isRevoked } = known.grant;
    const isExpired = known.expiresAtMs <= this.clock.nowMs();
    return { state: isRevoked ? 'revoked' : isExpired ? 'expired' : 'valid', grantId: id, athleteId, scopes };
  }

  /** The athlete of an access or refresh token, valid or not. */
  ownerOf(token: string): string | undefined {
    return (this.access.get(token) ?? this.refreshing.get(token))?.grant.athleteId;
  }

  /** Revokes the whole grant of an access or refresh token and returns its athlete. */
  revoke(token: string): string | undefined {
    const grant = this.access.get(token)?.grant ?? this.refreshing.get(token)?.grant;
    if (!grant || grant.isRevoked) return undefined;
    grant.isRevoked = true;
    return grant.athleteId;
  }

  /** Revokes all grants of the athlete and returns their number. */
  revokeAthlete(athleteId: string): number {
    const living = this.livingGrants(athleteId);
    living.forEach((grant) => (grant.isRevoked = true));
    return living.length;
  }

  /** Ends all access tokens of the athlete and returns the number of grants. The grants and the refresh tokens stay valid. */
  expire(athleteId: string): number {
    const living = this.livingGrants(athleteId);
    const nowMs = this.clock.nowMs();
    living.forEach((grant) => (grant.expiresAtMs = nowMs));
    for (const access of this.access.values())
      if (access.grant.athleteId === athleteId) access.expiresAtMs = Math.min(access.expiresAtMs, nowMs);
    return living.length;
  }

  isConnected(athleteId: string): boolean {
    return this.livingGrants(athleteId).length > 0;
  }

  connectedCount(): number {
    return [...this.grants.keys()].filter((athleteId) => this.isConnected(athleteId)).length;
  }

  /** The scopes of all grants of the athlete that are not revoked. */
  scopesOf(athleteId: string): Set<string> {
    return new Set(this.livingGrants(athleteId).flatMap(({ scopes }) => scopes));
  }

  private remember(grant: Grant): void {
    this.grants.set(grant.athleteId, [...(this.grants.get(grant.athleteId) ?? []), grant]);
    this.access.set(grant.accessToken, { grant, expiresAtMs: grant.expiresAtMs });
    this.refreshing.set(grant.refreshToken, { grant, diesAtMs: Infinity });
  }

  private livingGrants(athleteId: string): Grant[] {
    return (this.grants.get(athleteId) ?? []).filter(({ isRevoked }) => !isRevoked);
  }

  private isStillFresh(grant: Grant): boolean {
    const share = this.policy.keepAboveShare;
    return share !== undefined && grant.expiresAtMs - this.clock.nowMs() > this.lifetimeMs() * share;
  }

  private renewAccess(grant: Grant): void {
    grant.accessToken = randomToken();
    grant.expiresAtMs = this.clock.nowMs() + this.lifetimeMs();
    this.access.set(grant.accessToken, { grant, expiresAtMs: grant.expiresAtMs });
  }

  private renewRefresh(grant: Grant): void {
    const graceMs = this.clock.scaledMs((this.policy.graceSeconds ?? 0) * 1000);
    const old = this.refreshing.get(grant.refreshToken);
    if (old) old.diesAtMs = this.clock.nowMs() + graceMs;
    grant.refreshToken = randomToken();
    this.refreshing.set(grant.refreshToken, { grant, diesAtMs: Infinity });
  }

  private lifetimeMs(): number {
    return Math.max(SHORTEST_LIFE_SECONDS * 1000, this.clock.scaledMs(this.policy.lifetimeSeconds * 1000));
  }

  private pair({ accessToken, refreshToken, expiresAtMs, athleteId, scopes }: Grant): TokenPair {
    // `expires_at` is rounded down, so that a token is valid at least until that second.
    const expiresAtSeconds = Math.floor(expiresAtMs / 1000);
    const expiresInSeconds = Math.max(0, expiresAtSeconds - this.clock.nowSeconds());
    return { accessToken, refreshToken, expiresAtSeconds, expiresInSeconds, athleteId, scopes };
  }
}

export function randomToken(bytes = 20): string {
  return randomBytes(bytes).toString('hex');
}
