import { type VendorApp } from '../../core/index.js';
import { badRequest } from '../strava-fault.js';
import { STRAVA_SCOPES } from '../strava-facts.js';
import { checkClientId, type Fields } from './credentials.js';

/** The app's request for a consent. */
export interface ConsentRequest {
  readonly clientId: string;
  readonly redirectUri: string;
  readonly scopes: readonly string[];
  readonly state: string | undefined;
}

export function readConsentRequest(app: VendorApp, fields: Fields): ConsentRequest {
  checkClientId(app, fields['client_id']);
  const redirectUri = fields['redirect_uri'] ?? '';
  if (!URL.canParse(redirectUri)) throw badRequest('Application', 'redirect_uri');
  if ((fields['response_type'] ?? 'code') !== 'code') throw badRequest('Authorize', 'response_type');
  if (!['auto', 'force', 'prompt', undefined].includes(fields['approval_prompt'])) {
    throw badRequest('Authorize', 'approval_prompt');
  }
  const scopes = splitScopes(fields['scope'] ?? 'read');
  if (scopes.length === 0 || !scopes.every(isKnown)) throw badRequest('Authorize', 'scope');
  return { clientId: fields['client_id']!, redirectUri, scopes, state: fields['state'] };
}

/** Strava documents commas; libraries that follow the OAuth standard send spaces. */
export function splitScopes(scopes: string): string[] {
  return scopes.split(/[\s,]+/).filter((scope) => scope !== '');
}

/** The redirect back to the app. Strava sends `state` even when it is empty. */
export function redirectTo(
  { redirectUri, state = '' }: ConsentRequest,
  outcome: Record<string, string>,
): string {
  const url = new URL(redirectUri);
  for (const [name, value] of Object.entries({ state, ...outcome })) url.searchParams.set(name, value);
  return url.toString();
}

function isKnown(scope: string): boolean {
  return (STRAVA_SCOPES as readonly string[]).includes(scope);
}
