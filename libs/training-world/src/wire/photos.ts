import { type Activity } from '../activity.js';
import { courseOf, latitudeOf, longitudeOf } from '../course.js';
import { stravaLocalIso } from '../local-time.js';
import { type Plan, planOf } from '../plan.js';
import { fractionOf, mix, uuidOf } from '../random.js';
import { round } from '../maths.js';
import { type LatLng } from '../stream-keys.js';
import { isoSeconds } from '../iso-time.js';
import { type Photo } from './shapes.js';
import { nameOf } from './text.js';

/** `size` is the length of the longest edge, from the query `?size=`. */
export function photosOf(activity: Activity, size = 600): Photo[] {
  const count = photoCountOf(activity);
  if (count === 0) return [];
  const plan = planOf(activity);
  return Array.from({ length: count }, (_, index) => photoOf(activity, plan, index, size));
}

export function photoIdOf(activity: Activity, index: number): string {
  return uuidOf(mix(activity.seed, 0x9407, index));
}

export function photoUrls(uniqueId: string, size: number): Record<string, string> {
  return { [size]: `https://photos.example.com/${uniqueId}-${size}x${landscapeHeight(size)}.jpg` };
}

function photoOf(activity: Activity, plan: Plan, index: number, size: number): Photo {
  const share = fractionOf(activity.seed, 'photo at', index);
  const afterS = Math.floor(plan.elapsedS * share);
  const takenAt = isoSeconds(activity.startMs + afterS * 1000);
  const unique_id = photoIdOf(activity, index);
  const location = whereAt(activity, plan, share);
  return {
    unique_id,
    athlete_id: activity.athlete.id,
    activity_id: activity.id,
    activity_name: nameOf(activity),
    post_id: null,
    resource_state: 2,
    caption: '',
    type: 1,
    source: 1,
    status: 3,
    uploaded_at: isoSeconds(activity.startMs + (plan.elapsedS + 300) * 1000),
    created_at: takenAt,
    created_at_local: stravaLocalIso(activity, afterS),
    urls: photoUrls(unique_id, size),
    placeholder_image: null,
    sizes: { [size]: [size, landscapeHeight(size)] },
    default_photo: index === 0,
    ...(location && { location }),
  };
}

function whereAt(activity: Activity, plan: Plan, share: number): LatLng | null {
  const course = courseOf(activity, plan, 'coarse');
  if (!course) return null;
  const point = Math.floor((course.x.length - 1) * share);
  const lat = latitudeOf(course.place, course.y[point]!);
  const lng = longitudeOf(course.place, course.x[point]!);
  return [round(lat, 6), round(lng, 6)];
}

function landscapeHeight(size: number): number {
  return Math.round((size * 3) / 4);
}

/** One outdoor activity in eight has one to four photos. */
export function photoCountOf(activity: Activity): number {
  if (activity.wishes?.photos !== undefined) return activity.wishes.photos;
  if (activity.indoor || fractionOf(activity.seed, 'has photos') >= 0.125) return 0;
  return 1 + Math.floor(4 * fractionOf(activity.seed, 'photos') ** 2);
}
