import { z } from 'zod';
import { isoSeconds, SPORT_TYPES, summaryOf, truthOf } from '#training-world';
import { type ControlAnswer, type VendorControls } from '../core/index.js';
import { isPrivate } from './access.js';
import { SCOPES_OF_A_TEST_ATHLETE, STRAVA_SCOPES } from './strava-facts.js';
import { type Strava } from './strava.js';
import { makeActivity, readWorkoutOrder } from '../control/workout-order.js';

const Edit = z.object({
  name: z.string().min(1).max(255).optional(),
  description: z.string().nullable().optional(),
  sport_type: z.enum(SPORT_TYPES).optional(),
  private: z.boolean().optional(),
  visibility: z.enum(['everyone', 'followers_only', 'only_me']).optional(),
  commute: z.boolean().optional(),
  trainer: z.boolean().optional(),
  hide_from_home: z.boolean().optional(),
  gear_id: z.string().nullable().optional(),
  flagged: z.boolean().optional(),
  hide_start_time: z.boolean().optional(),
});

/** The control operations of Strava. An operation changes Strava's state and sends the events of a change by an athlete. */
export function stravaControls(strava: Strava): VendorControls {
  return {
    scopes: STRAVA_SCOPES,

    createAthlete({ athleteId, nights: _nights, scopes = SCOPES_OF_A_TEST_ATHLETE, ...past }) {
      const { id } = strava.addAthleteWithHistory({ ...past, id: athleteId });
      return { id, code: strava.tokens.issueCode({ athleteId: id, scopes }) };
    },

    deauthorize(athleteId) {
      if (!strava.profile(athleteId)) return false;
      strava.deauthorize(athleteId);
      return true;
    },

    expireTokens: (athleteId) => strava.tokens.expire(athleteId) > 0,

    describe: (athleteId) => ({
      connected: strava.tokens.isConnected(athleteId),
      records: strava.library.newestFirst(athleteId).length,
    }),

    recordsOf: (athleteId) =>
      strava.profile(athleteId) && {
        activities: strava.library.newestFirst(athleteId).map((activity) => ({
          id: activity.id,
          name: summaryOf(activity).name,
          private: isPrivate(activity),
          has_streams: strava.library.streamsFromMs(activity) !== null,
        })),
        nights: [],
      },

    createActivity(athleteId, body) {
      const athlete = strava.profile(athleteId);
      if (!athlete) return undefined;
      const order = readWorkoutOrder(body);
      const freeId = String(strava.library.freeId());
      const activity = makeActivity(order, athlete, freeId, strava.core.clock.nowMs());
      if (strava.library.find(activity.id)) throw takenId();
      strava.upload(athleteId, activity, (order.streams_late_s ?? 0) * 1000);
      return truth(strava, activity.id);
    },

    updateActivity(id, body) {
      const activity = strava.library.find(id);
      if (!activity) return undefined;
      strava.edit(activity, Edit.parse(body ?? {}));
      return truth(strava, id);
    },

    deleteActivity(id) {
      const activity = strava.library.find(id);
      if (activity) strava.remove(activity);
      return activity !== undefined;
    },

    activityTruth: (id) => truth(strava, id),

    workoutOf: (id) => strava.library.find(id),

    setWebhookUrl: (url) => void strava.subscriptions.subscribe(url),
  };
}

function truth(strava: Strava, id: string): ControlAnswer | undefined {
  const activity = strava.library.find(id);
  if (!activity) return undefined;
  const { name, private: isPrivate } = summaryOf(activity);
  const streamsFromMs = strava.library.streamsFromMs(activity);
  const created = Math.max(streamsFromMs ?? 0, activity.startMs);
  return {
    id,
    athlete_id: activity.athlete.id,
    name,
    start_date: isoSeconds(activity.startMs),
    private: isPrivate,
    streams_exist_at: streamsFromMs === null ? null : new Date(created).toISOString(),
    ...truthOf(activity),
  };
}

function takenId(): z.ZodError {
  return new z.ZodError([
    { code: 'custom', path: ['id'], message: 'taken by another activity', input: undefined },
  ]);
}
