import { type FastifyError, type FastifyInstance } from 'fastify';
import { type Core, type Dialect, interceptRequests } from '../core/index.js';
import { brokerRoutes } from './broker.routes.js';
import { mediaRoutes } from './media.routes.js';
import { policyRoutes } from './policy.routes.js';
import { ViewingPolicy } from './policy.js';

/** The video broker under `/broker`: catalogue, resolver and clips. */
export async function mountBroker(app: FastifyInstance, core: Core): Promise<void> {
  const policy = new ViewingPolicy();
  core.world.onReset(() => policy.reset());
  core.memory.keep('broker policy', policy);

  await app.register(
    (api, _options, done) => {
      interceptRequests(api, core, BROKER_DIALECT);
      api.setNotFoundHandler((_request, reply) => reply.code(404).send({ reason: 'not_found' }));
      api.setErrorHandler((error: FastifyError, _request, reply) => {
        const status = error.statusCode ?? 500;
        if (status >= 500) console.error(error);
        const reason = status < 500 ? 'malformed' : REASONS[500];
        void reply.code(status).send({ reason, details: [error.message] });
      });
      brokerRoutes(api, policy);
      mediaRoutes(api);
      policyRoutes(api, policy);
      done();
    },
    { prefix: '/broker' },
  );
}

const REASONS = { 404: 'not_found', 429: 'rate_limited', 500: 'internal_error' } as const;

/** The broker has no limits and counts no duplicates: an episode may be resolved again. */
const BROKER_DIALECT: Dialect = {
  vendor: 'broker',
  charge: () => undefined,
  problem: (status) => ({ body: { reason: REASONS[status] } }),
};
