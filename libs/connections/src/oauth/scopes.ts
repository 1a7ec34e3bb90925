import { type OAuthFacts } from '#vendors';

type ScopeFacts = Pick<OAuthFacts, 'scopes' | 'requiredScopes' | 'grantedScopesIn'>;

/** The granted scopes that we had requested. The redirect comes through a browser, which must not be able to add scopes. */
export function knownScopes({ scopes }: ScopeFacts, given: unknown): readonly string[] {
  return split(given).filter((scope) => scopes.includes(scope));
}

/** The scopes that the person granted, as the vendor reports them. */
export function grantedScopes(facts: ScopeFacts, redirected?: string, answered?: string): readonly string[] {
  if (facts.grantedScopesIn === 'nowhere') return facts.scopes;
  if (facts.grantedScopesIn === 'redirect') return knownScopes(facts, redirected);
  // RFC 6749 §5.1: an answer without `scope` means that all requested scopes were granted.
  return answered === undefined ? facts.scopes : knownScopes(facts, answered);
}

export function missingScopes(
  { requiredScopes }: ScopeFacts,
  scopes: readonly string[],
): ReadonlyArray<readonly string[]> {
  return requiredScopes.filter((choice) => !choice.some((scope) => scopes.includes(scope)));
}

function split(scopes: unknown): string[] {
  return typeof scopes === 'string' ? [...new Set(scopes.split(/[\s,]+/))] : [];
}
