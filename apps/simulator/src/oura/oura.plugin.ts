import { type FastifyError, type FastifyInstance } from 'fastify';
import { type Core, interceptRequests } from '../core/index.js';
import { habitsRoutes } from '../wearables/habits.js';
import { collectionRoutes, personalInfoRoutes } from './collection.routes.js';
import { ouraOAuth } from './oauth.js';
import { ouraControls } from './oura-controls.js';
import { OURA_BUCKETS, ouraDialect } from './oura-dialect.js';
import { OuraDetail, OuraProblem, OuraValidationProblem, problemBody } from './oura-problem.js';
import { Oura } from './oura.js';
import { subscriptionRoutes } from './subscription.routes.js';

/** Mounts the routes of https://api.ouraring.com and https://cloud.ouraring.com/oauth under `/oura`. */
export async function mountOura(app: FastifyInstance, core: Core): Promise<void> {
  core.limits.define('oura', OURA_BUCKETS);
  const oura = new Oura(core);
  core.controls.register('oura', ouraControls(oura));

  await app.register(
    (api, _options, done) => {
      interceptRequests(api, core, ouraDialect(oura));
      api.setNotFoundHandler((_request, reply) => reply.code(404).send({ detail: 'Not Found' }));
      api.setErrorHandler((error: FastifyError | Refusal, _request, reply) => {
        const { status, body } = explain(error);
        void reply.code(status).send(body);
      });
      ouraOAuth(api, oura);
      subscriptionRoutes(api, oura);
      collectionRoutes(api, oura);
      personalInfoRoutes(api, oura);
      habitsRoutes(api, oura.habits);
      done();
    },
    { prefix: '/oura' },
  );
}

type Refusal = OuraProblem | OuraDetail | OuraValidationProblem;

const REFUSALS = [OuraProblem, OuraDetail, OuraValidationProblem];

function explain(error: FastifyError | Refusal): { status: number; body: unknown } {
  if (isRefusal(error)) return error;
  if ((error.statusCode ?? 500) < 500) {
    const type = 'json_invalid';
    const ctx = { error: error.message };
    return new OuraValidationProblem([{ type, loc: ['body', 0], msg: 'JSON decode error', input: {}, ctx }]);
  }
  // A bug of the simulator must not look like an error of the client.
  console.error(error);
  return { status: 500, body: problemBody(500, `Simulator error: ${error.message}`) };
}

function isRefusal(error: FastifyError | Refusal): error is Refusal {
  return REFUSALS.some((kind) => error instanceof kind);
}
