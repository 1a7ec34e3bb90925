import { type FastifyInstance, type FastifyRequest } from 'fastify';
import { checkClient, fieldsOf } from '../oauth/credentials.js';
import { badRequest } from '../strava-fault.js';
import { type Strava } from '../strava.js';
import { type Subscription } from '../subscriptions.js';

/** Routes of the app's subscription, authorized by the app's id and secret. */
export function subscriptionRoutes(app: FastifyInstance, strava: Strava): void {
  const config = { endpoint: 'push_subscriptions' };
  const { subscriptions } = strava;

  app.post('/push_subscriptions', { config }, async (request, reply) => {
    const fields = fieldsOf(request);
    checkClient(strava.core.app('strava'), fields);
    const { callback_url: callbackUrl, verify_token: verifyToken } = fields;
    if (!callbackUrl) throw badRequest('PushSubscription', 'callback url', 'required');
    if (!verifyToken) throw badRequest('PushSubscription', 'verify token', 'required');
    const { id } = await subscriptions.create(callbackUrl, verifyToken);
    return reply.code(201).send({ id });
  });

  app.get('/push_subscriptions', { config }, (request, reply) => {
    const fields = fieldsOf(request);
    checkClient(strava.core.app('strava'), fields);
    const { current } = subscriptions;
    void reply.send(current ? [subscriptionJson(current, fields['client_id']!)] : []);
  });

  type WithId = FastifyRequest<{ Params: { id: string } }>;
  app.delete('/push_subscriptions/:id', { config }, (request: WithId, reply) => {
    checkClient(strava.core.app('strava'), fieldsOf(request));
    subscriptions.cancel(request.params.id);
    void reply.code(204).send();
  });
}

function subscriptionJson(
  { id, callbackUrl, createdAt }: Subscription,
  clientId: string,
): Record<string, unknown> {
  return {
    id,
    resource_state: 2,
    application_id: Number(clientId) || clientId,
    callback_url: callbackUrl,
    created_at: createdAt,
    updated_at: createdAt,
  };
}
