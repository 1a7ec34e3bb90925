import { type FastifyInstance, type FastifyRequest } from 'fastify';
import { STREAM_KEYS, type StreamKey, streamsJson } from '#training-world';
import { badRequest, notFound } from '../strava-fault.js';
import { type Strava } from '../strava.js';
import { JSON_TYPE } from '../strava-facts.js';
import { readableActivity } from './activity.routes.js';

type StreamsRequest = FastifyRequest<{
  Params: { id: string; keys?: string };
  Querystring: { keys?: string | string[]; key_by_type?: string };
}>;

export function streamRoutes(app: FastifyInstance, strava: Strava): void {
  // Older libraries send the keys in the path.
  for (const path of ['/activities/:id/streams', '/activities/:id/streams/:keys']) {
    app.get(path, { config: { endpoint: 'streams' } }, (request: StreamsRequest, reply) => {
      const activity = readableActivity(strava, request);
      const asked = request.params.keys ?? request.query.keys;
      if (!asked?.length) throw badRequest('Stream', 'keys', 'required');
      const fromMs = strava.library.streamsFromMs(activity);
      if (fromMs === null || strava.core.clock.nowMs() < fromMs) throw notFound('Activity');
      const keys = requestedKeys(asked);
      const json = streamsJson(activity, keys, isTrue(request.query.key_by_type));
      if (!json) throw notFound('Activity');
      void reply.type(JSON_TYPE).send(json);
    });
  }
}

/** The known keys of the request, each once. */
function requestedKeys(keys: string | string[]): StreamKey[] {
  const asked = new Set([keys].flat().flatMap((list) => list.split(',')));
  return STREAM_KEYS.filter((key) => asked.has(key));
}

function isTrue(word: string | undefined): boolean {
  return word === 'true' || word === '1';
}
