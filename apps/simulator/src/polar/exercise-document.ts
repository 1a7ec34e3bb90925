import { offsetMinutesAt, summaryOf } from '#training-world';
import { type z } from 'zod';
import { chanceOf, type PolarExercise } from './exercise-log.js';
import { routeOf, rounded, samplesOf, zonesOf } from './exercise-samples.js';
import { isoDuration } from './iso-duration.js';
import { type PolarHabits } from './polar-facts.js';
import { durationMsOf, recordingOf } from './recording.js';
import { isOnFoot, polarSportOf } from './sports.js';

const MINUTE_MS = 60_000;

export interface Extras {
  readonly samples: boolean;
  readonly zones: boolean;
  readonly route: boolean;
}

const NO_EXTRAS: Extras = { samples: false, zones: false, route: false };

/** A field that a session does not have is absent. The host in `polar_user` lacks its `.com`, as in Polar's examples. */
export function exerciseDocument(
  exercise: PolarExercise,
  habits: z.infer<typeof PolarHabits>,
  extras: Extras = NO_EXTRAS,
) {
  const { id, athleteId, activity, form, uploadedAtMs } = exercise;
  const offsetMinutes = offsetMinutesAt(activity.place.timeZone, activity.startMs);
  const named = polarSportOf(activity);
  const core = {
    id,
    upload_time: new Date(uploadedAtMs).toISOString(),
    polar_user: `https://www.polaraccesslink/v3/users/${athleteId}`,
    start_time: localTime(activity.startMs, offsetMinutes),
    start_time_utc_offset: offsetMinutes,
    duration: isoDuration(durationMsOf(exercise, habits.pauses), chanceOf(id, 'form') < 0.3),
    sport: form.sport === undefined ? named.sport : form.sport,
    detailed_sport_info: form.detailedSport === undefined ? named.detailed : form.detailedSport,
  };
  if (form.isSparse) return core;
  return {
    ...core,
    ...totalsOf(exercise),
    ...loadOf(exercise, offsetMinutes),
    ...extrasOf(exercise, habits, extras),
  };
}

function totalsOf({ id, athleteId, activity, form }: PolarExercise) {
  const summary = summaryOf(activity);
  const { distance, average_heartrate: average, max_heartrate: maximum, start_latlng } = summary;
  const kcalPerHour = 450 + 200 * chanceOf(id, 'calories');
  return {
    ...(!activity.manual && { device: 'Polar Vantage V3', device_id: deviceIdOf(athleteId) }),
    calories: form.calories ?? Math.round((kcalPerHour * summary.moving_time) / 3600),
    ...(distance > 0 && { distance: rounded(distance * form.distanceFactor, 1) }),
    ...(average !== undefined &&
      maximum !== undefined && {
        heart_rate: { average: Math.round(average), maximum: Math.round(maximum) },
      }),
    has_route: !activity.manual && start_latlng.length > 0,
  };
}

/** One watch per user, for sessions and nights. */
export function deviceIdOf(athleteId: string): string {
  const number = Math.floor(chanceOf(athleteId, 'device') * 2 ** 32);
  return number.toString(16).padStart(8, '0').toUpperCase();
}

const INTERPRETATIONS = ['VERY_LOW', 'LOW', 'MEDIUM', 'HIGH', 'VERY_HIGH'] as const;

/** Polar's own indexes. A missing value is absent, or -1 with NOT_AVAILABLE inside `training_load_pro`. */
function loadOf({ id, activity }: PolarExercise, offsetMinutes: number) {
  const { suffer_score: load, start_latlng } = summaryOf(activity);
  if (load === undefined) return {};
  const fat = Math.round(20 + 30 * chanceOf(id, 'fat'));
  const protein = Math.round(2 + 4 * chanceOf(id, 'protein'));
  const interpreted = INTERPRETATIONS[Math.min(INTERPRETATIONS.length - 1, Math.floor(load / 40))]!;
  return {
    training_load: rounded(1.4 * load, 2),
    ...(isOnFoot(activity) &&
      start_latlng.length > 0 && { 'running-index': Math.round(40 + 25 * chanceOf(id, 'index')) }),
    fat_percentage: fat,
    carbohydrate_percentage: 100 - fat - protein,
    protein_percentage: protein,
    training_load_pro: {
      date: localTime(activity.startMs, offsetMinutes).slice(0, 10),
      'cardio-load': rounded(load, 1),
      'muscle-load': -1,
      'perceived-load': -1,
      'cardio-load-interpretation': interpreted,
      'muscle-load-interpretation': 'NOT_AVAILABLE',
      'perceived-load-interpretation': 'NOT_AVAILABLE',
      'user-rpe': 'UNKNOWN',
    },
  };
}

function extrasOf(exercise: PolarExercise, habits: z.infer<typeof PolarHabits>, extras: Extras) {
  if (!extras.samples && !extras.zones && !extras.route) return {};
  const recording = recordingOf(exercise, habits.pauses);
  const samples = extras.samples && recording ? samplesOf(exercise, recording, habits) : [];
  const isListed = samples.length > 0 || habits.without_samples === 'empty';
  return {
    ...(extras.zones && recording?.has('heartrate') && { heart_rate_zones: zonesOf(exercise, recording) }),
    ...(extras.samples && isListed && { samples }),
    ...(extras.route && recording?.hasRoute && { route: routeOf(recording) }),
  };
}

/** Local time without an offset, which travels in a field of its own. */
function localTime(atMs: number, offsetMinutes: number): string {
  return new Date(atMs + offsetMinutes * MINUTE_MS).toISOString().slice(0, 19);
}
