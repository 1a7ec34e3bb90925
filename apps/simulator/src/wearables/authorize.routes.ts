import { type FastifyInstance, type FastifyReply } from 'fastify';
import { consentPage, refusalPage, SOMEBODY_NEW } from './consent-page.js';
import { type ConsentRequest, readConsentRequest, refusalTo, returnTo } from './consent-request.js';
import { type Fields, type OAuthVendor, one } from './oauth-vendor.js';

/**
 * GET asks a person. With `athlete_id` it consents for that one at once, `scope_granted` being what they left ticked
 * (everything when absent), and with `decision=deny` it declines.
 */
export function authorizeRoutes(app: FastifyInstance, vendor: OAuthVendor): void {
  const action = `${app.prefix}${vendor.authorizePath}`;

  app.get<{ Querystring: Fields }>(vendor.authorizePath, ({ query }, reply) =>
    answer(vendor, query, reply, (request) => {
      if (query.athlete_id !== undefined || query.decision === 'deny')
        return decide(vendor, request, query, reply);
      return sendPage(reply, 200, askPage(vendor, request, action));
    }),
  );

  app.post<{ Body: Fields | undefined }>(vendor.authorizePath, ({ body }, reply) => {
    // A form with no box ticked sends no such field.
    const form = { scope_granted: '', ...body };
    return answer(vendor, form, reply, (request) => decide(vendor, request, form, reply));
  });
}

function answer(
  vendor: OAuthVendor,
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
      return sendPage(reply, 400, refusalPage(vendor.name, reading.reason));
  }
}

function decide(
  vendor: OAuthVendor,
  request: ConsentRequest,
  fields: Fields,
  reply: FastifyReply,
): FastifyReply {
  if (one(fields.decision) === 'deny') {
    return reply.redirect(refusalTo(request, 'access_denied', 'The user said no'), 302);
  }
  const id = one(fields.athlete_id);
  const person = id === SOMEBODY_NEW ? vendor.addPerson() : vendor.people().find((known) => known.id === id);
  if (!person)
    return sendPage(reply, 400, refusalPage(vendor.name, `nobody here is called ${id ?? '(nothing)'}`));
  if (!vendor.hasRoomFor(person.id)) {
    return reply.redirect(
      refusalTo(request, 'access_denied', 'The application has all the users it may have'),
      302,
    );
  }
  const ticked = tickedScopes(fields, request.scopes);
  const scopes = request.scopes.filter((scope) => ticked.includes(scope));
  const code = vendor.tokens.issueCode({ athleteId: person.id, scopes, redirectUri: request.redirectUri });
  return reply.redirect(returnTo(request, { code, scope: scopes.join(' ') }), 302);
}

function tickedScopes({ scope_granted: granted }: Fields, otherwise: readonly string[]): readonly string[] {
  return granted === undefined ? otherwise : [granted].flat().flatMap((names) => names.split(/[\s,]+/));
}

function askPage(
  vendor: OAuthVendor,
  { clientId, redirectUri, scopes, state }: ConsentRequest,
  action: string,
) {
  const hidden = {
    client_id: clientId,
    redirect_uri: redirectUri,
    response_type: 'code',
    scope: scopes.join(' '),
  };
  return consentPage({
    vendorName: vendor.name,
    action,
    clientId,
    scopes,
    hidden: state === undefined ? hidden : { ...hidden, state },
    people: vendor
      .people()
      .map(({ id, firstname, lastname }) => ({ id, name: `${firstname} ${lastname} (${id})` })),
  });
}

function sendPage(reply: FastifyReply, status: number, page: string): FastifyReply {
  return reply.code(status).type('text/html; charset=utf-8').send(page);
}
