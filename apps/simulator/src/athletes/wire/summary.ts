import { type Activity } from '../activity.js';
import { hasChannel } from '../channels.js';
import { METRES_PER_DEGREE } from '../athlete-profile.js';
import { type Course, climbingOf, latitudeOf, longitudeOf, metresPerDegreeEast } from '../course.js';
import { localIso, shownStartMs, utcOffsetS } from '../local-time.js';
import { floor } from '../maths.js';
import { photoCountOf } from '../photo-count.js';
import { encodePolyline } from '../polyline.js';
import { fractionOf } from '../random.js';
import { round } from '../rounding.js';
import { isRide, isRun } from '../sport-model.js';
import { type LatLng } from '../stream-keys.js';
import { isoSeconds } from '../iso-time.js';
import { stravaTimeZone } from '../time-zones.js';
import { type Facts, factsOf } from './facts.js';
import { type SummaryActivity } from './shapes.js';
import { nameOf, workoutTypeOf } from './text.js';

export function summaryOf(activity: Activity): SummaryActivity {
  return summaryFrom(factsOf(activity));
}

/** One literal with every field, undefined where Strava leaves it out: a steady shape is made and printed fastest. */
export function summaryFrom({ activity, plan, totals, course }: Facts): SummaryActivity {
  const { athlete, place, overrides, manual } = activity;
  const { heartRate } = totals;
  const climbing = course && climbingOf(course);
  const sportType = overrides?.sport_type ?? activity.sport;
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
    type: LEGACY_TYPES[sportType] ?? sportType,
    sport_type: sportType,
    workout_type: workoutTypeOf(activity),
    device_name: manual ? undefined : athlete.deviceName,
    id: activity.id,
    start_date: isoSeconds(shownStartMs(activity)),
    start_date_local: localIso(activity),
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

// The newer sport types that the older `type` has no word for.
const LEGACY_TYPES: Record<string, string | undefined> = {
  TrailRun: 'Run',
  MountainBikeRide: 'Ride',
  GravelRide: 'Ride',
};

/** The coarse map of a summary, or a finer one when its course is. */
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

/** Only what a device recorded was ever uploaded; uploads are numbered apart from activities. */
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

/** Mostly little, sometimes up to `most`. */
function tally(activity: Activity, purpose: string, most: number): number {
  const fraction = fractionOf(activity.seed, purpose);
  return floor((most + 1) * fraction * fraction * fraction);
}
