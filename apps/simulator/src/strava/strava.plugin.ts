import { type FastifyError, type FastifyInstance } from 'fastify';
import { type Core, openDoor } from '../core/index.js';
import { stravaControls } from './controls.js';
import { stravaDialect } from './dialect.js';
import { authorizeRoutes } from './oauth/authorize.routes.js';
import { revokeRoutes } from './oauth/revoke.routes.js';
import { tokenRoutes } from './oauth/token.routes.js';
import { activityRoutes } from './routes/activity.routes.js';
import { athleteRoutes } from './routes/athlete.routes.js';
import { streamRoutes } from './routes/streams.routes.js';
import { subscriptionRoutes } from './routes/subscription.routes.js';
import { uploadRoutes } from './routes/upload.routes.js';
import { acceptMultipart } from './multipart.js';
import { badRequest, notFound, StravaFault } from './strava-fault.js';
import { STRAVA_BUCKETS } from './strava-facts.js';
import { Strava } from './strava.js';

export async function mountStrava(app: FastifyInstance, core: Core): Promise<void> {
  core.limits.define('strava', STRAVA_BUCKETS);
  const strava = new Strava(core);
  core.controls.register('strava', stravaControls(strava));

  await app.register(
    (api, _options, done) => {
      speakStrava(api, strava);
      athleteRoutes(api, strava);
      activityRoutes(api, strava);
      uploadRoutes(api, strava);
      streamRoutes(api, strava);
      subscriptionRoutes(api, strava);
      tokenRoutes(api, strava, '/oauth/token');
      done();
    },
    { prefix: '/api/v3' },
  );

  await app.register(
    (oauth, _options, done) => {
      speakStrava(oauth, strava);
      authorizeRoutes(oauth, strava);
      tokenRoutes(oauth, strava, '/token');
      revokeRoutes(oauth, strava);
      done();
    },
    { prefix: '/oauth' },
  );
}

function speakStrava(app: FastifyInstance, strava: Strava): void {
  openDoor(app, strava.core, stravaDialect(strava));
  acceptMultipart(app);
  app.setNotFoundHandler(() => {
    throw notFound('Resource');
  });
  app.setErrorHandler((error: FastifyError | StravaFault, _request, reply) => {
    const fault = error instanceof StravaFault ? error : unforeseen(error);
    void reply.code(fault.status).send(fault.body);
  });
}

/** Bodies that cannot be read, and our own bugs, which must not look like the client's. */
function unforeseen(error: FastifyError): StravaFault {
  if ((error.statusCode ?? 500) < 500) return badRequest('Application', 'body');
  console.error(error);
  return new StravaFault(500, { message: `Simulator error: ${error.message}`, errors: [] });
}
