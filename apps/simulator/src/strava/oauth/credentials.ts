import { type FastifyRequest } from 'fastify';
import { type VendorApp } from '../../core/index.js';
import { authorizationError, badRequest } from '../strava-fault.js';

export type Fields = Readonly<Record<string, string>>;

/** Strava reads its OAuth fields from the query, a form or a JSON body alike. */
export function fieldsOf(request: FastifyRequest): Fields {
  const body = typeof request.body === 'object' ? request.body : null;
  const given = { ...(request.query as object), ...body };
  return Object.fromEntries(
    Object.entries(given)
      .filter(([, value]) => ['string', 'number', 'boolean'].includes(typeof value))
      .map(([name, value]) => [name, String(value)]),
  );
}

/** Any id and secret will do unless the simulator was started with the app's own. */
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

/** HTTP Basic, as the revoke endpoint wants it. */
export function checkBasicClient(app: VendorApp, request: FastifyRequest): void {
  const encoded = /^Basic\s+(\S+)$/i.exec(request.headers.authorization ?? '')?.[1];
  const [client_id = '', client_secret = ''] = Buffer.from(encoded ?? '', 'base64')
    .toString()
    .split(/:(.*)/s);
  try {
    checkClient(app, { client_id, client_secret });
  } catch {
    throw authorizationError('Application', '', 'invalid');
  }
}
