import { type FastifyInstance } from 'fastify';
import { basicCredentials, type TokenPair } from '../core/index.js';
import { type Fields, type OAuthError, type OAuthVendor, one } from './oauth-vendor.js';

type Outcome = { pair: TokenPair } | { status: 400 | 401; error: OAuthError; description: string };

export function tokenRoutes(app: FastifyInstance, vendor: OAuthVendor): void {
  const config = { endpoint: 'token' };

  app.post<{ Body: Fields | undefined }>(vendor.tokenPath, { config }, ({ body, headers }, reply) => {
    void reply.header('cache-control', 'no-store');
    const outcome = trade(vendor, { ...body, ...basicCredentials(headers.authorization) });
    if ('pair' in outcome) return vendor.tokenAnswer(outcome.pair);
    const { status, error, description } = outcome;
    return reply.code(status).send(vendor.errorAnswer(status, error, description));
  });
}

function trade(vendor: OAuthVendor, form: Fields): Outcome {
  if (!vendor.client.recognises(one(form.client_id), one(form.client_secret))) {
    return { status: 401, error: 'invalid_client', description: 'Client authentication failed' };
  }
  switch (one(form.grant_type)) {
    case 'authorization_code':
      return tradeFor(one(form.code), 'authorization code', (code) => vendor.tokens.exchange(code));
    case 'refresh_token':
      return tradeFor(one(form.refresh_token), 'refresh token', (token) => vendor.tokens.refresh(token));
    case undefined:
      return { status: 400, error: 'invalid_request', description: 'grant_type is missing' };
    default:
      return { status: 400, error: 'unsupported_grant_type', description: 'grant_type is not supported' };
  }
}

function tradeFor(
  secret: string | undefined,
  name: string,
  obtain: (secret: string) => TokenPair | undefined,
): Outcome {
  if (!secret) return { status: 400, error: 'invalid_request', description: `The ${name} is missing` };
  const pair = obtain(secret);
  if (pair) return { pair };
  return {
    status: 400,
    error: 'invalid_grant',
    description: `The ${name} is invalid, expired, revoked or used`,
  };
}
