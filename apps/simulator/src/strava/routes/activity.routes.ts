import { type FastifyInstance, type FastifyRequest } from 'fastify';
import { type Activity, detailJson, lapsOf, photosOf, wireJson, zonesOf } from '../../athletes/index.js';
import { type Access, authenticateReader, authenticateWriter } from '../access.js';
import { notFound } from '../strava-fault.js';
import { type Strava } from '../strava.js';
import { isVisibleWith } from '../visibility.js';
import { readActivityChanges } from './activity-changes.js';
import { JSON_TYPE } from './json-type.js';
import { wholeNumber } from './query.js';

type WithId = FastifyRequest<{ Params: { id: string } }>;

export function activityRoutes(app: FastifyInstance, strava: Strava): void {
  // `include_all_efforts` changes nothing here: there are no segment efforts to include.
  app.get('/activities/:id', { config: { endpoint: 'activity' } }, (request: WithId, reply) => {
    void reply.type(JSON_TYPE).send(detailJson(readable(strava, request)));
  });

  app.get('/activities/:id/laps', { config: { endpoint: 'laps' } }, (request: WithId, reply) => {
    void reply.type(JSON_TYPE).send(wireJson(lapsOf(readable(strava, request))));
  });

  app.get('/activities/:id/zones', { config: { endpoint: 'zones' } }, (request: WithId, reply) => {
    void reply.type(JSON_TYPE).send(wireJson(zonesOf(readable(strava, request))));
  });

  app.get('/activities/:id/photos', { config: { endpoint: 'photos' } }, (request: WithId, reply) => {
    const activity = readable(strava, request);
    void reply.type(JSON_TYPE).send(wireJson(photosOf(activity, wholeNumber(request.query, 'size'))));
  });

  app.put('/activities/:id', { config: { endpoint: 'update_activity' } }, (request: WithId, reply) => {
    const access = authenticateWriter(strava.tokens, request);
    const activity = ownActivity(strava, access, request.params.id);
    const edited = strava.edit(activity, readActivityChanges(request.body, activity));
    void reply.type(JSON_TYPE).send(detailJson(edited));
  });
}

export function readable(strava: Strava, request: WithId): Activity {
  return ownActivity(strava, authenticateReader(strava.tokens, request), request.params.id);
}

/** Other people's activities and those the token may not see look as if they did not exist. */
function ownActivity(strava: Strava, { athleteId, scopes }: Access, id: string): Activity {
  const activity = strava.library.find(id);
  if (!activity || activity.athlete.id !== athleteId || !isVisibleWith(scopes)(activity))
    throw notFound('Activity');
  return activity;
}
