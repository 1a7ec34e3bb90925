import { type FastifyRequest } from 'fastify';
import { basicCredentials, type VendorApp } from '../../core/index.js';
import { authorizationError, badRequest } from '../strava-fault.js';

export type Fields = Readonly<Record<string, string>>;

/** Strava accepts OAuth fields in the query, in a form and in a JSON body. */
export function fieldsOf(request: FastifyRequest): Fields {
  const body = typeof request.body === 'object' ? request.body : null;
  const given = { ...(request.query as object), ...body };
  return Object.fromEntries(
    Object.entries(given)
      .filter(([, value]) => ['string', 'number', 'boolean'].includes(typeof value))
      .map(([name, value]) => [name, String(value)]),
  );
}

/** Accepts any id and secret, unless the simulator was started with an id or a secret of the app. */
export function checkClient(app: VendorApp, { client_id, client_secret }: Fields): void {
  checkClientId(app, client_id);
  if (!client_secret) throw badRequest('Application', 'client_secret');
  if (app.clientSecret !== undefined && client_secret !== app.clientSecret) {
    throw badRequest('Application', 'client_secret');
  }
}

export function checkClientId(app: VendorApp, clientId: string | undefined): void {
  if (!clientId || (app.clientId !== undefined && clientId !== app.clientId)) {
    throw badRequest('Application', 'client_id');
  }
}

/** Checks HTTP Basic credentials, which the revoke endpoint requires. */
export function checkBasicClient(app: VendorApp, request: FastifyRequest): void {
  try {
    checkClient(app, basicCredentials(request.headers.authorization) ?? {});
  } catch {
    throw authorizationError('Application', '', 'invalid');
  }
}
