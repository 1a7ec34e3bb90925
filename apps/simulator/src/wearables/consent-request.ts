import { type ConsentVendor, type Fields, type OAuthError, one } from './oauth-vendor.js';

export interface ConsentRequest {
  readonly clientId: string;
  readonly redirectUri: string;
  /** Undefined if the app relies on its default URL. */
  readonly askedRedirectUri: string | undefined;
  /** The URL that errors go to: the default one if the app has registered any. */
  readonly errorUri: string;
  readonly scopes: readonly string[];
  readonly state: string | undefined;
}

/**
 * `untrusted`: the client is unknown or the redirect URL is no URL. A page shows the error, because a redirect would be an
 * open redirect. `wrong`: any other error. The redirect takes the error back to the app.
 */
type Reading =
  | { kind: 'asks'; request: ConsentRequest }
  | { kind: 'untrusted'; reason: string }
  | { kind: 'wrong'; location: string };

export function readConsentRequest(vendor: ConsentVendor, fields: Fields): Reading {
  const clientId = one(fields.client_id);
  const askedRedirectUri = one(fields.redirect_uri);
  const [registeredUri, ...others] = vendor.registeredRedirects?.() ?? [];
  const redirectUri = askedRedirectUri ?? registeredUri;
  if (!vendor.client.knowsId(clientId)) return { kind: 'untrusted', reason: 'unknown client_id' };
  if (!isHttpUrl(redirectUri)) return { kind: 'untrusted', reason: 'redirect_uri is not a URL' };
  if (registeredUri !== undefined && ![registeredUri, ...others].includes(redirectUri))
    return { kind: 'untrusted', reason: 'redirect_uri is not registered' };

  const asked = (one(fields.scope) ?? '').split(/[\s+]+/).filter(Boolean);
  const scopes = asked.length > 0 ? asked : vendor.scopes;
  const request = {
    clientId,
    redirectUri,
    askedRedirectUri,
    errorUri: registeredUri ?? redirectUri,
    scopes,
    state: one(fields.state),
  };
  if (one(fields.response_type) !== 'code') {
    return wrong(request, 'unsupported_response_type', 'response_type must be code');
  }
  const stranger = scopes.find((scope) => !vendor.scopes.includes(scope));
  if (stranger !== undefined) return wrong(request, 'invalid_scope', `Unknown scope ${stranger}`);
  return { kind: 'asks', request };
}

export function refusalTo(request: ConsentRequest, error: OAuthError, description: string): string {
  return returnTo(request.errorUri, request, { error, error_description: description });
}

export function returnTo(toUrl: string, { state }: ConsentRequest, answer: Record<string, string>): string {
  const url = new URL(toUrl);
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
