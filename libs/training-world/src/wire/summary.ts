import { type Activity } from '../activity.js';
import { hasChannel } from '../channels.js';
import { METRES_PER_DEGREE } from '../athlete-profile.js';
import {
  climbingOf,
  type Course,
  courseOf,
  latitudeOf,
  longitudeOf,
  metresPerDegreeEast,
} from '../course.js';
import { stravaLocalIso, shownStartMs, utcOffsetS } from '../local-time.js';
import { floor, max, nearest, round } from '../maths.js';
import { encodePolyline } from '../polyline.js';
import { fractionOf } from '../random.js';
import { isRide, isRun } from '../sport-model.js';
import { legacyTypeOf } from '../sport-type.js';
import { type LatLng } from '../stream-keys.js';
import { isoSeconds } from '../iso-time.js';
import { stravaTimeZone } from '../time-zones.js';
import { type Plan, planOf } from '../plan.js';
import { type Totals, totalsOf } from '../totals.js';
import { photoCountOf } from './photos.js';
import { type SummaryActivity } from './shapes.js';
import { nameOf, workoutTypeOf } from './text.js';

/** The common values of a summary, a detail and laps, computed once. */
export interface Facts {
  readonly activity: Activity;
  readonly plan: Plan;
  readonly totals: Totals;
  readonly course: Course | null;
}

export function factsOf(activity: Activity): Facts {
  const plan = planOf(activity);
  return { activity, plan, totals: totalsOf(activity, plan), course: courseOf(activity, plan, 'coarse') };
}

export function summaryOf(activity: Activity): SummaryActivity {
  return summaryFrom(factsOf(activity));
}

/**
 * Makes one object literal with every field. A field is undefined if Strava leaves it out. V8 creates and prints objects of
 * constant shape fastest.
 */
export function summaryFrom({ activity, plan, totals, course }: Facts): SummaryActivity {
  const { athlete, place, overrides, manual } = activity;
  const { heartRate } = totals;
  const climbing = course && climbingOf(course);
  const sportType = overrides?.sport_type ?? activity.namedSport ?? activity.sport;
  const isPrivate = overrides?.private ?? overrides?.visibility === 'only_me';
  const uploadId = manual ? null : uploadIdOf(activity);
  return {
    resource_state: 2,
    athlete: { id: athlete.id, resource_state: 1 },
    name: nameOf(activity),
    distance: totals.metres,
    moving_time: plan.movingS,
    elapsed_time: plan.elapsedS,
    total_elevation_gain: climbing ? round(climbing.gainM, 1) : 0,
    type: legacyTypeOf(sportType),
    sport_type: sportType,
    workout_type: workoutTypeOf(activity),
    device_name: manual ? undefined : athlete.deviceName,
    id: activity.id,
    start_date: isoSeconds(shownStartMs(activity)),
    start_date_local: stravaLocalIso(activity),
    timezone: stravaTimeZone(place.timeZone, activity.startMs),
    utc_offset: utcOffsetS(activity),
    location_city: null,
    location_state: null,
    location_country: place.country,
    achievement_count: tally(activity, 'achievements', 4),
    kudos_count: tally(activity, 'kudos', 40),
    comment_count: tally(activity, 'comments', 5),
    athlete_count: 1 + tally(activity, 'companions', 4),
    photo_count: 0,
    total_photo_count: photoCountOf(activity),
    map: { id: `a${activity.id}`, summary_polyline: polylineOf(course), resource_state: 2 },
    trainer: overrides?.trainer ?? (activity.indoor && (isRide(activity.sport) || isRun(activity.sport))),
    commute: overrides?.commute ?? activity.commute,
    manual,
    private: isPrivate,
    visibility: overrides?.visibility ?? (isPrivate ? 'only_me' : 'everyone'),
    flagged: overrides?.flagged ?? false,
    gear_id: gearIdOf(activity),
    start_latlng: course ? pointOf(course, 0) : [],
    end_latlng: course ? pointOf(course, course.x.length - 1) : [],
    average_speed: round(totals.averageSpeed, 3),
    max_speed: totals.maxSpeed,
    average_cadence: optional(totals.averageCadence, 1),
    average_temp: totals.averageTempC ?? undefined,
    average_watts: optional(totals.averageWatts, 1),
    max_watts: totals.maxWatts ?? undefined,
    weighted_average_watts: totals.weightedWatts ?? undefined,
    kilojoules:
      totals.averageWatts === null ? undefined : round((totals.averageWatts * plan.movingS) / 1000, 1),
    device_watts: totals.averageWatts === null ? undefined : hasChannel(activity, 'watts'),
    has_heartrate: heartRate !== null,
    average_heartrate: heartRate ? round(heartRate.average, 1) : undefined,
    max_heartrate: heartRate ? heartRate.max : undefined,
    heartrate_opt_out: false,
    display_hide_heartrate_option: heartRate !== null,
    suffer_score: heartRate ? sufferScoreOf(activity, plan.movingS, heartRate.average) : undefined,
    elev_high: climbing ? round(climbing.highestM, 1) : undefined,
    elev_low: climbing ? round(climbing.lowestM, 1) : undefined,
    upload_id: uploadId,
    upload_id_str: uploadId ?? undefined,
    external_id: manual ? null : `garmin_ping_${activity.seed}_${shownStartMs(activity) / 1000}`,
    from_accepted_tag: false,
    pr_count: tally(activity, 'records', 2),
    has_kudoed: false,
  };
}

/** Encodes the course as a polyline; a finer course gives a finer map. */
export function polylineOf(course: Course | null): string {
  if (!course) return '';
  const { place, x, y } = course;
  const latPerM = 1 / METRES_PER_DEGREE;
  const lngPerM = 1 / metresPerDegreeEast(place);
  return encodePolyline(
    x.length,
    (i) => place.lat + y[i]! * latPerM,
    (i) => place.lng + x[i]! * lngPerM,
  );
}

export function gearIdOf(activity: Activity): string | null {
  const chosen = activity.overrides?.gear_id;
  if (chosen !== undefined) return chosen;
  const { athlete, sport } = activity;
  const gear = isRun(sport) ? athlete.shoes : isRide(sport) ? athlete.bikes : [];
  return gear[floor(gear.length * fractionOf(activity.seed, 'gear'))]?.id ?? null;
}

/** Strava's Relative Effort. The time in motion is weighted by the used share of the heart-rate reserve. */
function sufferScoreOf({ athlete }: Activity, movingS: number, averageHeartRate: number): number {
  const { restingHeartRate, maxHeartRate } = athlete;
  const share = max(0, (averageHeartRate - restingHeartRate) / (maxHeartRate - restingHeartRate));
  return nearest((movingS / 60) * 2.4 * share * share * share);
}

/** The upload id, at a fixed distance from the activity id. Callers set none for manual entries. */
function uploadIdOf(activity: Activity): string {
  return String(BigInt(activity.id) + 1_073_741_827n);
}

function pointOf(course: Course, index: number): LatLng {
  const lat = latitudeOf(course.place, course.y[index]!);
  const lng = longitudeOf(course.place, course.x[index]!);
  return [round(lat, 6), round(lng, 6)];
}

function optional(value: number | null, decimals: number): number | undefined {
  return value === null ? undefined : round(value, decimals);
}

/** A count from 0 to `most`, mostly small. */
function tally(activity: Activity, purpose: string, most: number): number {
  const fraction = fractionOf(activity.seed, purpose);
  return floor((most + 1) * fraction * fraction * fraction);
}
