import { type FastifyInstance, type FastifyRequest } from 'fastify';
import { STREAM_KEYS, type StreamKey, streamsJson } from '../../athletes/index.js';
import { notFound } from '../strava-fault.js';
import { type Strava } from '../strava.js';
import { readable } from './activity.routes.js';
import { JSON_TYPE } from './json-type.js';

type StreamsRequest = FastifyRequest<{
  Params: { id: string; keys?: string };
  Querystring: { keys?: string | string[]; key_by_type?: string };
}>;

export function streamRoutes(app: FastifyInstance, strava: Strava): void {
  // The second form, with the keys in the path, is the one older libraries use.
  for (const path of ['/activities/:id/streams', '/activities/:id/streams/:keys']) {
    app.get(path, { config: { endpoint: 'streams' } }, (request: StreamsRequest, reply) => {
      const activity = readable(strava, request);
      const fromMs = strava.library.streamsFromMs(activity);
      if (fromMs === null || strava.core.clock.nowMs() < fromMs) throw notFound('Activity');
      const keys = requestedKeys(request.params.keys ?? request.query.keys);
      const json = streamsJson(activity, keys, isTrue(request.query.key_by_type));
      if (!json) throw notFound('Activity');
      void reply.type(JSON_TYPE).send(json);
    });
  }
}

/** Unknown keys are ignored; a key asked for twice comes once. */
function requestedKeys(keys: string | string[] | undefined): StreamKey[] {
  const asked = new Set([keys ?? []].flat().flatMap((list) => list.split(',')));
  return STREAM_KEYS.filter((key) => asked.has(key));
}

function isTrue(word: string | undefined): boolean {
  return word === 'true' || word === '1';
}
