import { type FastifyError, type FastifyInstance } from 'fastify';
import { type Core, interceptRequests } from '../core/index.js';
import { habitsRoutes } from '../wearables/habits.js';
import { exerciseRoutes } from './exercise.routes.js';
import { polarOAuth } from './oauth.js';
import { polarControls } from './polar-controls.js';
import { polarBuckets, polarDialect } from './polar-dialect.js';
import { PolarProblem, problemBody } from './polar-problem.js';
import { Polar } from './polar.js';
import { answerXmlWithoutAccept } from './polar-xml.js';
import { sleepRoutes } from './sleep.routes.js';
import { userControls, userRoutes } from './user.routes.js';
import { webhookRoutes } from './webhook.routes.js';

/** www.polaraccesslink.com/v3, flow.polar.com/oauth2 and polarremote.com/v2/oauth2, all under `/polar`. */
export async function mountPolar(app: FastifyInstance, core: Core): Promise<void> {
  const polar = new Polar(core);
  core.limits.define('polar', polarBuckets(polar));
  core.controls.register('polar', polarControls(polar));

  await app.register(
    (api, _options, done) => {
      interceptRequests(api, core, polarDialect(polar));
      api.setNotFoundHandler((_request, reply) =>
        reply.code(404).send(problemBody(404, 'Not found', core.clock.nowMs())),
      );
      api.setErrorHandler((error: FastifyError | PolarProblem, _request, reply) => {
        const { status, message } = explain(error);
        void reply.code(status).send(problemBody(status, message, core.clock.nowMs()));
      });
      // Only the data API has two formats.
      void api.register((data, _none, mounted) => {
        answerXmlWithoutAccept(data, polar);
        userRoutes(data, polar);
        exerciseRoutes(data, polar);
        sleepRoutes(data, polar);
        webhookRoutes(data, polar);
        mounted();
      });
      polarOAuth(api, polar);
      habitsRoutes(api, polar.habits, (sim) => userControls(sim, polar));
      done();
    },
    { prefix: '/polar' },
  );
}

function explain(error: FastifyError | PolarProblem): { status: number; message: string } {
  if (error instanceof PolarProblem) return error;
  const status = error.statusCode ?? 500;
  if (status < 500) return { status: 400, message: error.message };
  // A bug of the simulator must not look like an error of the client.
  console.error(error);
  return { status: 500, message: `Simulator error: ${error.message}` };
}
