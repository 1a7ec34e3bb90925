import { type FastifyError, type FastifyInstance } from 'fastify';
import { type Core, interceptRequests } from '../core/index.js';
import { habitsRoutes } from '../wearables/habits.js';
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
import { badRequest, notFound, StravaFault } from './strava-fault.js';
import { STRAVA_BUCKETS } from './strava-facts.js';
import { Strava } from './strava.js';

export async function mountStrava(app: FastifyInstance, core: Core): Promise<void> {
  core.limits.define('strava', STRAVA_BUCKETS);
  const strava = new Strava(core);
  core.controls.register('strava', stravaControls(strava));

  await app.register(
    (api, _options, done) => {
      serveWhile(api, () => strava.habits.now.api_host !== 'new');
      apiRoutes(api, strava);
      tokenRoutes(api, strava, '/oauth/token');
      authorizeRoutes(api, strava, '/oauth/authorize');
      done();
    },
    { prefix: '/api/v3' },
  );

  // The root of https://api-v3.strava.com.
  await app.register(
    (api, _options, done) => {
      serveWhile(api, () => strava.habits.now.api_host !== 'old');
      apiRoutes(api, strava);
      done();
    },
    { prefix: '/api-v3' },
  );

  await app.register(
    (oauth, _options, done) => {
      speakStrava(oauth, strava);
      authorizeRoutes(oauth, strava, '/authorize', '/mobile/authorize');
      tokenRoutes(oauth, strava, '/token');
      revokeRoutes(oauth, strava);
      done();
    },
    { prefix: '/oauth' },
  );

  await app.register(
    (sim, _options, done) => {
      habitsRoutes(sim, strava.habits);
      done();
    },
    { prefix: '/strava' },
  );
}

function apiRoutes(api: FastifyInstance, strava: Strava): void {
  speakStrava(api, strava);
  athleteRoutes(api, strava);
  activityRoutes(api, strava);
  uploadRoutes(api, strava);
  streamRoutes(api, strava);
  subscriptionRoutes(api, strava);
}

/** While the host is not served, connections break, as at an address where nothing listens. These requests are not counted. */
function serveWhile(app: FastifyInstance, isServed: () => boolean): void {
  app.addHook('onRequest', (request, reply, done) => {
    if (isServed()) return done();
    reply.hijack();
    request.raw.socket.destroy();
  });
}

/** Removes a token in the query, so that all later hooks and routes see a request without a token. */
function ignoreTokenInQuery(app: FastifyInstance, { habits }: Strava): void {
  app.addHook('onRequest', (request, _reply, done) => {
    if (habits.now.tokens_in === 'header') delete (request.query as Record<string, unknown>).access_token;
    done();
  });
}

function speakStrava(app: FastifyInstance, strava: Strava): void {
  ignoreTokenInQuery(app, strava);
  interceptRequests(app, strava.core, stravaDialect(strava));
  acceptMultipart(app);
  app.setNotFoundHandler(() => {
    throw notFound('Resource');
  });
  app.setErrorHandler((error: FastifyError | StravaFault, _request, reply) => {
    const fault = error instanceof StravaFault ? error : unforeseen(error);
    void reply.code(fault.status).send(fault.body);
  });
}

/** An unreadable body gets 400. A bug of the simulator gets 500, so that it does not look like an error of the client. */
function unforeseen(error: FastifyError): StravaFault {
  if ((error.statusCode ?? 500) < 500) return badRequest('Application', 'body');
  console.error(error);
  return new StravaFault(500, { message: `Simulator error: ${error.message}`, errors: [] });
}

/** Accepts multipart forms, because Strava's documents show `curl -F` for OAuth and subscription calls. */
function acceptMultipart(app: FastifyInstance): void {
  app.addContentTypeParser<Buffer>(
    'multipart/form-data',
    { parseAs: 'buffer' },
    async ({ headers }: { headers: Record<string, string | string[] | undefined> }, body: Buffer) => {
      const type = String(headers['content-type']);
      try {
        const form = await new Response(new Uint8Array(body), {
          headers: { 'content-type': type },
        }).formData();
        return Object.fromEntries(form);
      } catch {
        return {};
      }
    },
  );
}
