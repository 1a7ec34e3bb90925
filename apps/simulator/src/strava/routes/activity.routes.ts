import { type FastifyInstance, type FastifyRequest } from 'fastify';
import { type Activity, detailJson, lapsOf, photosOf, wireJson, zonesOf } from '#training-world';
import { type Access, authenticateReader, authenticateWriter, isVisibleWith } from '../access.js';
import { notFound } from '../strava-fault.js';
import { type Strava } from '../strava.js';
import { JSON_TYPE } from '../strava-facts.js';
import { readActivityChanges, wholeNumber } from './fields.js';

type WithId = FastifyRequest<{ Params: { id: string } }>;

export function activityRoutes(app: FastifyInstance, strava: Strava): void {
  // `include_all_efforts` changes nothing, because the simulator has no segment efforts.
  app.get('/activities/:id', { config: { endpoint: 'activity' } }, (request: WithId, reply) => {
    void reply.type(JSON_TYPE).send(detailJson(readableActivity(strava, request)));
  });

  app.get('/activities/:id/laps', { config: { endpoint: 'laps' } }, (request: WithId, reply) => {
    void reply.type(JSON_TYPE).send(wireJson(lapsOf(readableActivity(strava, request))));
  });

  app.get('/activities/:id/zones', { config: { endpoint: 'zones' } }, (request: WithId, reply) => {
    void reply.type(JSON_TYPE).send(wireJson(zonesOf(readableActivity(strava, request))));
  });

  app.get('/activities/:id/photos', { config: { endpoint: 'photos' } }, (request: WithId, reply) => {
    const activity = readableActivity(strava, request);
    void reply.type(JSON_TYPE).send(wireJson(photosOf(activity, wholeNumber(request.query, 'size'))));
  });

  app.put('/activities/:id', { config: { endpoint: 'update_activity' } }, (request: WithId, reply) => {
    const access = authenticateWriter(strava.tokens, request);
    const activity = ownActivity(strava, access, request.params.id);
    const edited = strava.edit(activity, readActivityChanges(request.body, activity));
    void reply.type(JSON_TYPE).send(detailJson(edited));
  });
}

export function readableActivity(strava: Strava, request: WithId): Activity {
  return ownActivity(strava, authenticateReader(strava.tokens, request), request.params.id);
}

/** Throws the same 404 for an unknown activity, for another athlete's activity and for a hidden activity. */
function ownActivity(strava: Strava, { athleteId, scopes }: Access, id: string): Activity {
  const activity = strava.library.find(id);
  if (!activity || activity.athlete.id !== athleteId || !isVisibleWith(scopes)(activity))
    throw notFound('Activity');
  return activity;
}
