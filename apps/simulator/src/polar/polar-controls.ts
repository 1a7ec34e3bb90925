import { isoSeconds, summaryOf, truthOf } from '#training-world';
import { z } from 'zod';
import { type ControlAnswer, type VendorControls } from '../core/index.js';
import { SleepOrder } from '../wearables/plan-night.js';
import { exerciseDocument } from './exercise-document.js';
import { type PolarExercise } from './exercise-log.js';
import { ExerciseEdit } from './exercise-order.js';
import { asleepMinutes } from '../wearables/reshape-night.js';
import { dateOf, nightDocument } from './night-document.js';
import { type PolarNight } from './night-log.js';
import { SCOPE } from './polar-facts.js';
import { type Polar } from './polar.js';

/** User ids are JSON numbers, so they must be exact as doubles. */
const UserId = z.object({ athlete_id: z.string().regex(/^[1-9]\d{0,14}$/, 'expected up to 15 digits') });

const NightOrder = SleepOrder.extend({
  nap: z.literal(false, 'Polar has no naps').optional(),
});

export function polarControls(polar: Polar): VendorControls {
  return {
    scopes: [SCOPE],

    createAthlete({ count, nights, athleteId, seed, scopes = [SCOPE] }) {
      if (athleteId !== undefined) UserId.parse({ athlete_id: athleteId });
      const { id } = polar.addAthlete({ exercises: count, nights, id: athleteId, seed });
      return { id, code: polar.tokens.issueCode({ athleteId: id, scopes }) };
    },

    // Polar sends no event when a user revokes; the app learns it from the next call.
    deauthorize(athleteId) {
      if (!polar.athletes.find(athleteId)) return false;
      polar.revoke(athleteId);
      return true;
    },

    expireTokens: (athleteId) => polar.tokens.expire(athleteId) > 0,

    describe: (athleteId) => ({
      connected: polar.tokens.isConnected(athleteId),
      records: polar.exercises.of(athleteId).length + polar.nights.of(athleteId).length,
    }),

    recordsOf(athleteId) {
      if (!polar.athletes.find(athleteId)) return undefined;
      const registration = polar.registrations.of(athleteId);
      if (!registration) return { activities: [], nights: [] };
      return {
        activities: polar.visibleExercises(registration).map(({ id, activity }) => ({
          ...{ id, name: summaryOf(activity).name, private: false },
          has_streams: !activity.manual,
        })),
        nights: polar.visibleNights(registration).map(({ id, night }) => ({
          ...{ id, date: dateOf(night, polar.habits.now) },
          ...{ duration_minutes: asleepMinutes(night), score: night.score, counts: true },
        })),
      };
    },

    createActivity(athleteId, body) {
      const athlete = polar.athletes.find(athleteId);
      return athlete && exerciseAnswer(polar, polar.upload(athlete, body));
    },

    updateActivity(id, body) {
      const exercise = polar.exercises.find(id);
      return exercise && exerciseAnswer(polar, polar.edit(exercise, ExerciseEdit.parse(body ?? {})));
    },

    deleteActivity(id) {
      const exercise = polar.exercises.find(id);
      if (exercise) polar.removeExercise(exercise);
      return exercise !== undefined;
    },

    activityTruth(id) {
      const exercise = polar.exercises.find(id);
      return exercise && exerciseAnswer(polar, exercise);
    },

    createSleep(athleteId, body) {
      const athlete = polar.athletes.find(athleteId);
      return athlete && nightAnswer(polar, polar.recordNight(athlete, NightOrder.parse(body)));
    },

    updateSleep(id, body) {
      const night = polar.nights.find(id);
      return night && nightAnswer(polar, polar.reviseNight(night, NightOrder.parse(body ?? {})));
    },

    deleteSleep(id) {
      const night = polar.nights.find(id);
      if (night) polar.removeNight(night);
      return night !== undefined;
    },
  };
}

function exerciseAnswer({ habits }: Polar, exercise: PolarExercise): ControlAnswer {
  const { id, athleteId, activity, uploadedAtMs } = exercise;
  return {
    id,
    provider: 'polar',
    athlete_id: athleteId,
    start_date: isoSeconds(activity.startMs),
    uploaded_at: new Date(uploadedAtMs).toISOString(),
    document: exerciseDocument(exercise, habits.now),
    ...truthOf(activity),
  };
}

function nightAnswer({ habits }: Polar, record: PolarNight): ControlAnswer {
  const { id, athleteId } = record;
  const document = nightDocument(record, habits.now);
  return { id, provider: 'polar', athlete_id: athleteId, date: document.date, document };
}
