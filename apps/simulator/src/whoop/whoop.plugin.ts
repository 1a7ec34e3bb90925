import { type FastifyError, type FastifyInstance } from 'fastify';
import { type Core, interceptRequests } from '../core/index.js';
import { habitsRoutes } from '../wearables/habits.js';
import { whoopOAuth } from './oauth.js';
import { sleepRoutes } from './sleep.routes.js';
import { userRoutes } from './user.routes.js';
import { whoopControls } from './whoop-controls.js';
import { WHOOP_BUCKETS, whoopDialect } from './whoop-dialect.js';
import { NO_RESOURCE, SERVER_ERROR, WhoopProblem } from './whoop-problem.js';
import { Whoop } from './whoop.js';

/** Mounts the routes of https://api.prod.whoop.com/developer and of its /oauth under `/whoop`. */
export async function mountWhoop(app: FastifyInstance, core: Core): Promise<void> {
  core.limits.define('whoop', WHOOP_BUCKETS);
  const whoop = new Whoop(core);
  core.controls.register('whoop', whoopControls(whoop));

  await app.register(
    (api, _options, done) => {
      interceptRequests(api, core, whoopDialect(whoop));
      api.addHook('onClose', () => whoop.stop());
      api.setNotFoundHandler((_request, reply) => reply.code(404).type(PLAIN).send(NO_RESOURCE));
      api.setErrorHandler((error: FastifyError | WhoopProblem, _request, reply) => {
        const { status, message } = explain(error);
        void reply.code(status).type(PLAIN).send(message);
      });
      whoopOAuth(api, whoop);
      sleepRoutes(api, whoop);
      userRoutes(api, whoop);
      habitsRoutes(api, whoop.habits);
      done();
    },
    { prefix: '/whoop' },
  );
}

const PLAIN = 'text/plain; charset=utf-8';

function explain(error: FastifyError | WhoopProblem): { status: number; message: string } {
  if (error instanceof WhoopProblem) return error;
  if ((error.statusCode ?? 500) < 500)
    return { status: 400, message: 'Client error constructing the request' };
  // A bug of the simulator must not look like an error of the client.
  console.error(error);
  return { status: 500, message: `${SERVER_ERROR} (simulator: ${error.message})` };
}
