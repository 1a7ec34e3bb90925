import { type FastifyInstance, type FastifyRequest } from 'fastify';
import { challengeCallback } from './challenge.js';
import { DATA_TYPES, type DataType, EVENT_TYPES, type EventType } from './oura-facts.js';
import { OuraProblem, OuraValidationProblem } from './oura-problem.js';
import { pythonIso } from './oura-events.js';
import { type Oura } from './oura.js';
import { type Subscription, type SubscriptionTerms } from './subscriptions.js';
import { type Field, isHttpUrl, isOneOf, isText, validateBody } from './validation.js';

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

/** Guarded by the application's own headers: a bearer token opens nothing here. */
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
    refuseTaken(oura, terms.eventType, terms.dataType);
    await requireEcho(oura, terms.callbackUrl, terms.verificationToken);
    refuseTaken(oura, terms.eventType, terms.dataType);
    return reply.code(201).send(answer(subscriptions.add(terms)));
  });

  app.get<Id>('/v2/webhook/subscription/:id', { config, preHandler }, ({ params }) =>
    answer(find(oura, params.id)),
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

  // No copy of the documents repeats the challenge here.
  app.put<Id>('/v2/webhook/subscription/renew/:id', { config, preHandler }, ({ params }) =>
    answer(subscriptions.renew(find(oura, params.id))),
  );
}

function requireApp(oura: Oura, { headers }: FastifyRequest): void {
  if (!oura.client.recognises(headers['x-client-id'], headers['x-client-secret'])) {
    throw new OuraProblem(401, 'x-client-id and x-client-secret do not belong to an application');
  }
}

function find(oura: Oura, id: string): Subscription {
  const subscription = oura.subscriptions.get(id);
  if (!subscription) throw new OuraProblem(403, 'Webhook with specified id does not exist.');
  return subscription;
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
  throw new OuraValidationProblem([{ loc: ['body', 'data_type'], msg, type: 'value_error.duplicate' }]);
}

async function requireEcho(oura: Oura, callbackUrl: string, verificationToken: string): Promise<void> {
  const outcome = await challengeCallback(oura.core.clock, callbackUrl, verificationToken);
  if (outcome.verified) return;
  const msg = `callback could not be verified: ${outcome.reason}`;
  const problem = { loc: ['body', 'callback_url'], msg, type: 'value_error.challenge' };
  throw new OuraValidationProblem([problem], oura.habits.now.failed_challenge_status);
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
