import { type FastifyInstance } from 'fastify';
import { z } from 'zod';
import { createActivity, detailJson } from '../../athletes/index.js';
import { authenticateWriter } from '../access.js';
import { badRequest } from '../strava-fault.js';
import { type Strava } from '../strava.js';
import { SPORTS } from '../workout-words.js';
import { JSON_TYPE } from './json-type.js';

const ManualEntry = z.object({
  name: z.string().min(1).max(255),
  sport_type: z.enum(SPORTS),
  start_date_local: z.string().refine((text) => !Number.isNaN(Date.parse(text))),
  elapsed_time: z.coerce.number().int().positive().max(86_400),
  description: z.string().optional(),
  distance: z.coerce.number().positive().optional(),
});

/** The one upload there is: an entry typed in by hand. It is charged to the overall buckets only. */
export function uploadRoutes(app: FastifyInstance, strava: Strava): void {
  app.post('/activities', { config: { endpoint: 'activities' } }, (request, reply) => {
    const { athleteId } = authenticateWriter(strava.tokens, request);
    const parsed = ManualEntry.safeParse(request.body ?? {});
    if (!parsed.success) throw badRequest('Activity', String(parsed.error.issues[0]?.path[0] ?? ''));
    const { name, sport_type, start_date_local, elapsed_time, description, distance } = parsed.data;
    const activity = createActivity({
      id: String(strava.library.freeId()),
      athlete: strava.profile(athleteId)!,
      startMs: Date.parse(start_date_local),
      sport: sport_type,
      durationS: elapsed_time,
      distanceM: distance,
      manual: true,
      overrides: { name, ...(description !== undefined && { description }) },
    });
    strava.upload(athleteId, activity, 0);
    void reply.code(201).type(JSON_TYPE).send(detailJson(activity));
  });
}
