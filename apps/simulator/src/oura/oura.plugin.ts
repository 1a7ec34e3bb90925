import { type FastifyError, type FastifyInstance } from 'fastify';
import { type Core, openDoor } from '../core/index.js';
import { habitsRoutes } from '../wearables/habits.js';
import { collectionRoutes } from './collection.routes.js';
import { ouraOAuth } from './oauth.js';
import { ouraControls } from './oura-controls.js';
import { OURA_BUCKETS, ouraDialect } from './oura-dialect.js';
import { OuraProblem, OuraValidationProblem, problemBody } from './oura-problem.js';
import { Oura } from './oura.js';
import { personalInfoRoutes } from './personal-info.routes.js';
import { subscriptionRoutes } from './subscription.routes.js';

/** https://api.ouraring.com and https://cloud.ouraring.com/oauth, both under `/oura`. */
export async function mountOura(app: FastifyInstance, core: Core): Promise<void> {
  core.limits.define('oura', OURA_BUCKETS);
  const oura = new Oura(core);
  core.controls.register('oura', ouraControls(oura));

  await app.register(
    (api, _options, done) => {
      openDoor(api, core, ouraDialect(oura));
      api.setNotFoundHandler((_request, reply) => reply.code(404).send({ detail: 'Not Found' }));
      api.setErrorHandler((error: FastifyError | OuraProblem | OuraValidationProblem, _request, reply) => {
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

function explain(error: FastifyError | OuraProblem | OuraValidationProblem): {
  status: number;
  body: unknown;
} {
  if (error instanceof OuraProblem || error instanceof OuraValidationProblem) return error;
  if ((error.statusCode ?? 500) < 500) {
    const problem = { loc: ['body'], msg: error.message, type: 'value_error.jsondecode' };
    return new OuraValidationProblem([problem]);
  }
  // Our own bug, which must not look like the client's.
  console.error(error);
  return { status: 500, body: problemBody(500, `Simulator error: ${error.message}`) };
}
