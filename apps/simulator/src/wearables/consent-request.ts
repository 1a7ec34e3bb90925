import { type Fields, type OAuthError, type OAuthVendor, one } from './oauth-vendor.js';

export interface ConsentRequest {
  readonly clientId: string;
  readonly redirectUri: string;
  readonly scopes: readonly string[];
  readonly state: string | undefined;
}

/** What cannot be trusted is shown to the person; only what can is sent back to the app. */
export type Reading =
  | { kind: 'asks'; request: ConsentRequest }
  | { kind: 'untrusted'; reason: string }
  | { kind: 'wrong'; location: string };

export function readConsentRequest(vendor: OAuthVendor, fields: Fields): Reading {
  const clientId = one(fields.client_id);
  const redirectUri = one(fields.redirect_uri);
  if (!vendor.client.knowsId(clientId)) return { kind: 'untrusted', reason: 'unknown client_id' };
  if (!isHttpUrl(redirectUri)) return { kind: 'untrusted', reason: 'redirect_uri is not a URL' };

  const asked = (one(fields.scope) ?? '').split(/[\s+]+/).filter(Boolean);
  const scopes = asked.length > 0 ? asked : vendor.scopes;
  const request = { clientId, redirectUri, scopes, state: one(fields.state) };
  if (one(fields.response_type) !== 'code') {
    return wrong(request, 'unsupported_response_type', 'response_type must be code');
  }
  const stranger = scopes.find((scope) => !vendor.scopes.includes(scope));
  if (stranger !== undefined) return wrong(request, 'invalid_scope', `Unknown scope ${stranger}`);
  return { kind: 'asks', request };
}

export function refusalTo(request: ConsentRequest, error: OAuthError, description: string): string {
  return returnTo(request, { error, error_description: description });
}

export function returnTo({ redirectUri, state }: ConsentRequest, answer: Record<string, string>): string {
  const url = new URL(redirectUri);
  for (const [name, value] of Object.entries(answer)) url.searchParams.set(name, value);
  if (state !== undefined) url.searchParams.set('state', state);
  return url.href;
}

function wrong(request: ConsentRequest, error: OAuthError, description: string): Reading {
  return { kind: 'wrong', location: refusalTo(request, error, description) };
}

function isHttpUrl(text: string | undefined): text is string {
  return text !== undefined && /^https?:\/\//i.test(text) && URL.canParse(text);
}
