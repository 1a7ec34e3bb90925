import { type FastifyInstance, type FastifyReply, type FastifyRequest } from 'fastify';
import { challengeCallback } from './challenge.js';
import {
  DATA_TYPES,
  type DataType,
  EVENT_TYPES,
  type EventType,
  GATEWAY_TIMEOUT_MS,
  GATEWAY_TIMEOUT_PAGE,
} from './oura-facts.js';
import { OuraDetail, OuraProblem, OuraValidationProblem } from './oura-problem.js';
import { pythonIso } from './oura-events.js';
import { type Oura } from './oura.js';
import { type Subscription, type SubscriptionTerms } from './subscriptions.js';
import { type Field, isHttpUrl, isOneOf, isText, problemAt, validateBody } from './validation.js';

interface Terms {
  callback_url?: string;
  verification_token?: string;
  event_type?: EventType;
  data_type?: DataType;
}

const CHECKS = {
  callback_url: isHttpUrl,
  verification_token: isText,
  event_type: isOneOf(EVENT_TYPES),
  data_type: isOneOf(DATA_TYPES),
};
const ON_CREATE = fieldsRequiring(Object.keys(CHECKS));
const ON_CHANGE = fieldsRequiring(['verification_token']);

type Id = { Params: { id: string } };

/** The headers `x-client-id` and `x-client-secret` authorize these routes. A bearer token does not. */
export function subscriptionRoutes(app: FastifyInstance, oura: Oura): void {
  const { subscriptions } = oura;
  const config = { endpoint: 'subscriptions' };
  const preHandler = (request: FastifyRequest, _reply: unknown, done: () => void) => {
    requireApp(oura, request);
    done();
  };

  app.get('/v2/webhook/subscription', { config, preHandler }, () => subscriptions.list().map(answer));

  app.post('/v2/webhook/subscription', { config, preHandler }, async ({ body }, reply) => {
    const terms = readTerms(body, ON_CREATE) as SubscriptionTerms;
    const fault = oura.core.faults.ofChallenge('oura');
    if (fault?.kind === 'ssl_error') return reply.code(500).type('text/plain').send('SSLError');
    if (fault) return answerTooLate(oura, terms, fault.lateMs, reply);
    refuseTaken(oura, terms.eventType, terms.dataType);
    await requireEcho(oura, terms.callbackUrl, terms.verificationToken);
    refuseTaken(oura, terms.eventType, terms.dataType);
    return reply.code(201).send(answer(subscriptions.add(terms)));
  });

  app.get<Id>('/v2/webhook/subscription/:id', { config, preHandler }, ({ params }) =>
    answer(find(oura, params.id, 403)),
  );

  app.put<Id>('/v2/webhook/subscription/:id', { config, preHandler }, async ({ params, body }) => {
    const held = find(oura, params.id);
    const terms = readTerms(body, ON_CHANGE);
    const wanted = { ...held, ...terms };
    refuseTaken(oura, wanted.eventType, wanted.dataType, held);
    if (wanted.callbackUrl !== held.callbackUrl)
      await requireEcho(oura, wanted.callbackUrl, wanted.verificationToken);
    return answer(subscriptions.change(held, terms));
  });

  app.delete<Id>('/v2/webhook/subscription/:id', { config, preHandler }, ({ params }, reply) => {
    subscriptions.remove(find(oura, params.id).id);
    return reply.code(204).send();
  });

  // Oura's documents show no challenge on renewal.
  app.put<Id>('/v2/webhook/subscription/renew/:id', { config, preHandler }, ({ params }) =>
    answer(subscriptions.renew(find(oura, params.id))),
  );
}

function requireApp(oura: Oura, { headers }: FastifyRequest): void {
  if (!oura.client.recognises(headers['x-client-id'], headers['x-client-secret'])) {
    throw new OuraProblem(401, 'x-client-id and x-client-secret do not belong to an application');
  }
}

function find(
  oura: Oura,
  id: string,
  unknownStatus = oura.habits.now.unknown_subscription_status,
): Subscription {
  const subscription = oura.subscriptions.get(id);
  if (subscription) return subscription;
  throw unknownStatus === 403
    ? new OuraDetail(403, 'Forbidden')
    : new OuraDetail(404, `No webhook id ${id} found.`);
}

function readTerms(body: unknown, fields: Readonly<Record<string, Field>>): Partial<SubscriptionTerms> {
  const problems = validateBody(body, fields);
  if (problems.length > 0) throw new OuraValidationProblem(problems);
  const { callback_url, verification_token, event_type, data_type } = body as Terms;
  const terms = {
    callbackUrl: callback_url,
    verificationToken: verification_token,
    eventType: event_type,
    dataType: data_type,
  };
  return Object.fromEntries(Object.entries(terms).filter(([, value]) => value !== undefined));
}

function refuseTaken(oura: Oura, eventType: EventType, dataType: DataType, by?: Subscription): void {
  const holder = oura.subscriptions.forPair(eventType, dataType);
  if (!holder || holder.id === by?.id) return;
  const msg = `a subscription for ${eventType} of ${dataType} exists`;
  throw new OuraValidationProblem([problemAt(['body', 'data_type'], { type: 'value_error', msg }, dataType)]);
}

async function requireEcho(oura: Oura, callbackUrl: string, verificationToken: string): Promise<void> {
  const outcome = await challengeCallback(oura.core.clock, callbackUrl, verificationToken);
  if (outcome.verified) return;
  const msg = `callback could not be verified: ${outcome.reason}`;
  const problem = problemAt(['body', 'callback_url'], { type: 'value_error', msg }, callbackUrl);
  throw new OuraValidationProblem([problem], oura.habits.now.failed_challenge_status);
}

/** The gateway answers 504 after a minute. The challenge goes out late, and its result is ignored. */
function answerTooLate(
  { core }: Oura,
  { callbackUrl, verificationToken }: SubscriptionTerms,
  lateMs: number,
  reply: FastifyReply,
): FastifyReply {
  core.clock.after(core.clock.scaledMs(GATEWAY_TIMEOUT_MS), () => {
    void reply.code(504).type('text/html').send(GATEWAY_TIMEOUT_PAGE);
  });
  core.clock.after(core.clock.scaledMs(lateMs), () => {
    void challengeCallback(core.clock, callbackUrl, verificationToken);
  });
  return reply;
}

function answer({ id, callbackUrl, eventType, dataType, expiresAtMs }: Subscription) {
  return {
    id,
    callback_url: callbackUrl,
    event_type: eventType,
    data_type: dataType,
    expiration_time: pythonIso(expiresAtMs),
  };
}

function fieldsRequiring(required: readonly string[]): Record<string, Field> {
  const fields = Object.entries(CHECKS).map(([name, check]) => [
    name,
    { check, required: required.includes(name) },
  ]);
  return Object.fromEntries(fields) as Record<string, Field>;
}
