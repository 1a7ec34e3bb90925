import { randomUUID } from 'node:crypto';
import { type FastifyInstance, type FastifyRequest } from 'fastify';
import { z } from 'zod';
import { requireApp } from './access.js';
import { WEBHOOK_EVENTS } from './polar-facts.js';
import { PolarProblem } from './polar-problem.js';
import { type Polar } from './polar.js';

type Id = { Params: { id: string } };
type WithId = FastifyRequest<Id>;

const Terms = z.object({
  events: z.array(z.enum(WEBHOOK_EVENTS)).min(1),
  url: z.url({ protocol: /^https?$/ }),
});

/** The application's credentials as HTTP Basic authorize these routes, not a bearer token. */
export function webhookRoutes(app: FastifyInstance, polar: Polar): void {
  const { webhook } = polar;
  const config = { endpoint: 'subscriptions' };
  const preHandler = (request: FastifyRequest, _reply: unknown, done: () => void) => {
    requireApp(polar, request);
    done();
  };
  const options = { config, preHandler };

  app.get('/v3/webhooks', options, () => list(polar));

  app.post('/v3/webhooks', options, async ({ body }, reply) => {
    const { events, url } = read(Terms, body);
    refuseSecond(polar);
    const key = randomUUID();
    await requirePong(polar, url, key);
    // Another POST may have created one during the PING.
    refuseSecond(polar);
    const { id } = webhook.create({ events, url, key });
    // The only answer that ever contains the key.
    return reply.code(201).send({ data: { id, events, url, signature_secret_key: key } });
  });

  app.patch<Id>('/v3/webhooks/:id', options, async (request) => {
    const held = find(polar, request);
    const terms = read(Terms.partial(), request.body);
    if (terms.url !== undefined && terms.url !== held.url) await requirePong(polar, terms.url, held.key);
    webhook.change(terms);
    return list(polar);
  });

  app.delete<Id>('/v3/webhooks/:id', options, (request, reply) => {
    find(polar, request);
    webhook.remove();
    return reply.code(204).send();
  });

  app.post('/v3/webhooks/activate', options, async (_request, reply) => {
    if (!webhook.now) return reply.code(204).send();
    await requirePong(polar, webhook.now.url, webhook.now.key);
    webhook.setActive(true);
    return reply.code(200).send();
  });

  app.post('/v3/webhooks/deactivate', options, (_request, reply) => {
    if (!webhook.now) return reply.code(204).send();
    webhook.setActive(false);
    return reply.code(200).send();
  });
}

function list({ webhook }: Polar) {
  if (!webhook.now) return { data: [] };
  const { id, events, url, isActive } = webhook.now;
  return { data: [{ id, events, url, active: isActive }] };
}

function find({ webhook }: Polar, { params: { id } }: WithId) {
  if (webhook.now?.id === id) return webhook.now;
  throw new PolarProblem(404, 'There is no such webhook');
}

function read<Shape>(schema: z.ZodType<Shape>, body: unknown): Shape {
  const parsed = schema.safeParse(body ?? {});
  if (parsed.success) return parsed.data;
  const problems = parsed.error.issues.map(({ path, message }) => `${path.join('.')}: ${message}`);
  throw new PolarProblem(400, problems.join('; '));
}

function refuseSecond({ webhook }: Polar): void {
  if (webhook.now) throw new PolarProblem(409, 'The client has a webhook already');
}

async function requirePong({ webhook }: Polar, url: string, key: string): Promise<void> {
  if (!(await webhook.ping(url, key))) throw new PolarProblem(400, 'The PING was not answered with 200');
}
