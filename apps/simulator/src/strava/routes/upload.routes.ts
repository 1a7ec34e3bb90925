import { type FastifyInstance } from 'fastify';
import { z } from 'zod';
import { createActivity, detailJson, momentOfLocal, SPORT_TYPES } from '#training-world';
import { authenticateWriter } from '../access.js';
import { badRequest } from '../strava-fault.js';
import { type Strava } from '../strava.js';
import { JSON_TYPE } from '../strava-facts.js';
import { Flag } from './fields.js';

const ManualEntry = z.object({
  name: z.string().min(1).max(255),
  sport_type: z.enum(SPORT_TYPES).optional(),
  /** Deprecated, but some clients still send it. `sport_type` takes precedence. */
  type: z.enum(SPORT_TYPES).optional(),
  start_date_local: z.string().refine((text) => !Number.isNaN(Date.parse(text))),
  elapsed_time: z.coerce.number().int().positive().max(86_400),
  description: z.string().optional(),
  distance: z.coerce.number().min(0).optional(),
  commute: Flag.optional(),
  trainer: Flag.optional(),
});

/** The only offered upload is a manual entry. An upload is charged to the overall buckets only. */
export function uploadRoutes(app: FastifyInstance, strava: Strava): void {
  app.post('/activities', { config: { endpoint: 'activities' } }, (request, reply) => {
    const { athleteId } = authenticateWriter(strava.tokens, request);
    const parsed = ManualEntry.safeParse(request.body ?? {});
    if (!parsed.success) throw badRequest('Activity', String(parsed.error.issues[0]?.path[0] ?? ''));
    const { start_date_local, elapsed_time, distance, type, sport_type = type, ...overrides } = parsed.data;
    if (sport_type === undefined) throw badRequest('Activity', 'sport_type', 'required');
    const athlete = strava.profile(athleteId)!;
    const activity = createActivity({
      id: String(strava.library.freeId()),
      athlete,
      startMs: momentOfLocal(athlete.place.timeZone, wallClockMs(start_date_local)),
      sport: sport_type,
      durationS: elapsed_time,
      distanceM: distance || undefined,
      manual: true,
      overrides,
    });
    strava.upload(athleteId, activity, 0);
    void reply.code(201).type(JSON_TYPE).send(detailJson(activity));
  });
}

/** The local time as epoch milliseconds, as if the local time were UTC. Strava's local times end with a false `Z`. */
function wallClockMs(text: string): number {
  return Date.parse(`${text.replace(/(Z|[+-]\d\d:?\d\d)$/i, '')}Z`);
}
