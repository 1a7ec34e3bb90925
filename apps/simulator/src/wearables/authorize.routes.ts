import { type FastifyInstance, type FastifyReply } from 'fastify';
import { consentPage, refusalPage, NEW_ATHLETE_ID } from '../consent/consent-page.js';
import { type ConsentRequest, readConsentRequest, refusalTo, returnTo } from './consent-request.js';
import { type ConsentVendor, type Fields, one } from './oauth-vendor.js';

/**
 * GET shows the consent page. With `athlete_id` GET consents for that athlete at once, to the scopes in `scope_granted`.
 * Without `scope_granted` it consents to all requested scopes. With `decision=deny` it declines.
 */
export function authorizeRoutes(app: FastifyInstance, vendor: ConsentVendor): void {
  const action = `${app.prefix}${vendor.authorizePath}`;

  app.get<{ Querystring: Fields }>(vendor.authorizePath, ({ query }, reply) =>
    answer(vendor, query, reply, (request) => {
      if (query.athlete_id !== undefined || query.decision === 'deny')
        return decide(vendor, request, query, reply);
      return sendPage(reply, 200, askPage(vendor, request, action));
    }),
  );

  app.post<{ Body: Fields | undefined }>(vendor.authorizePath, ({ body }, reply) => {
    // A form without a ticked box sends no `scope_granted`. Such a form must grant no scope.
    const form = { scope_granted: '', ...body };
    return answer(vendor, form, reply, (request) => decide(vendor, request, form, reply));
  });
}

function answer(
  vendor: ConsentVendor,
  fields: Fields,
  reply: FastifyReply,
  proceed: (request: ConsentRequest) => FastifyReply,
): FastifyReply {
  const reading = readConsentRequest(vendor, fields);
  switch (reading.kind) {
    case 'asks':
      return proceed(reading.request);
    case 'wrong':
      return reply.redirect(reading.location, 302);
    case 'untrusted':
      return sendPage(reply, 400, untrusted(vendor, reading.reason));
  }
}

function decide(
  vendor: ConsentVendor,
  request: ConsentRequest,
  fields: Fields,
  reply: FastifyReply,
): FastifyReply {
  if (one(fields.decision) === 'deny') {
    return reply.redirect(refusalTo(request, 'access_denied', 'The user said no'), 302);
  }
  const id = one(fields.athlete_id);
  const person =
    id === NEW_ATHLETE_ID ? vendor.addPerson() : vendor.people().find((known) => known.id === id);
  if (!person) return sendPage(reply, 400, untrusted(vendor, `there is no athlete ${id ?? '(no id)'}`));
  if (!vendor.hasRoomFor(person.id)) {
    return reply.redirect(
      refusalTo(request, 'access_denied', 'The application has all the users it may have'),
      302,
    );
  }
  const ticked = tickedScopes(fields, request.scopes);
  const scopes = request.scopes.filter((scope) => ticked.includes(scope));
  const code = vendor.tokens.issueCode({
    athleteId: person.id,
    scopes,
    redirectUri: request.askedRedirectUri,
  });
  const answer: Record<string, string> = { code };
  if (vendor.returnsScope !== false) answer.scope = scopes.join(' ');
  return reply.redirect(returnTo(request.redirectUri, request, answer), 302);
}

function tickedScopes({ scope_granted: granted }: Fields, otherwise: readonly string[]): readonly string[] {
  return granted === undefined ? otherwise : [granted].flat().flatMap((names) => names.split(/[\s,]+/));
}

function askPage(
  vendor: ConsentVendor,
  { clientId, redirectUri, askedRedirectUri, scopes, state }: ConsentRequest,
  action: string,
): string {
  const hidden = {
    client_id: clientId,
    redirect_uri: askedRedirectUri,
    response_type: 'code',
    scope: scopes.join(' '),
    state,
  };
  const { name: vendorName, client } = vendor;
  return consentPage({
    vendorName,
    appName: client.name,
    action,
    scopes,
    hidden,
    people: vendor.people(),
    redirectUri,
  });
}

function untrusted(vendor: ConsentVendor, reason: string): string {
  return refusalPage(vendor.name, 'This request cannot be answered', `${reason}.`);
}

function sendPage(reply: FastifyReply, status: number, page: string): FastifyReply {
  return reply.code(status).type('text/html; charset=utf-8').send(page);
}
