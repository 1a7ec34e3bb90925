import { type Activity } from '../activity.js';
import { METRES_PER_DEGREE } from '../athlete-profile.js';
import { type Course, metresPerDegreeEast } from '../course.js';
import { cos, floor, max, min, nearest } from '../maths.js';
import { type Random, randomFor } from '../random.js';
import { type Channel } from './clock.js';

const GPS_ERROR_M = 1.8;
const GPS_WANDERS_OVER_M = 70;

/**
 * In the values, latitude and longitude alternate. The GPS error depends on the place on the course. So the position of a
 * standing runner does not move.
 */
export function positionChannel(activity: Activity, course: Course, distance: Float64Array): Channel {
  const random = randomFor(activity.seed, 'gps');
  const x = withGpsError(course.x, course.spacingM, random);
  const y = withGpsError(course.y, course.spacingM, random);
  const { place, spacingM } = course;
  const perY = 1e6 / METRES_PER_DEGREE;
  const perX = 1e6 / metresPerDegreeEast(place);
  const values = new Int32Array(2 * distance.length);
  const lastSegment = x.length - 2;
  for (let i = 0; i < distance.length; i++) {
    const at = distance[i]! / spacingM;
    const before = min(lastSegment, floor(at));
    const rest = at - before;
    values[2 * i] = nearest(place.lat * 1e6 + perY * (y[before]! + (y[before + 1]! - y[before]!) * rest));
    values[2 * i + 1] = nearest(place.lng * 1e6 + perX * (x[before]! + (x[before + 1]! - x[before]!) * rest));
  }
  return { values, decimals: 6 };
}

export function altitudeChannel(course: Course, distance: Float64Array): Channel {
  return sampled(course.height, course.spacingM, distance, 10, 1);
}

/** The grade in percent, from the heights around each point. */
export function gradeChannel(course: Course, distance: Float64Array): Channel {
  const { height, spacingM } = course;
  const reach = max(1, nearest(12 / spacingM));
  const last = height.length - 1;
  const grade = new Float64Array(height.length);
  for (let i = 0; i <= last; i++) {
    const from = max(0, i - reach);
    const to = min(last, i + reach);
    grade[i] = (height[to]! - height[from]!) / ((to - from) * spacingM);
  }
  return sampled(grade, spacingM, distance, 1000, 1);
}

function sampled(
  points: Float64Array,
  spacingM: number,
  distance: Float64Array,
  scale: number,
  decimals: number,
): Channel {
  const values = new Int32Array(distance.length);
  const lastSegment = points.length - 2;
  for (let i = 0; i < values.length; i++) {
    const at = distance[i]! / spacingM;
    const before = min(lastSegment, floor(at));
    values[i] = nearest(scale * (points[before]! + (points[before + 1]! - points[before]!) * (at - before)));
  }
  return { values, decimals };
}

/** Adds a slow wave through random knots. The wave is zero at both ends, so start and end are the same as in the summary. */
function withGpsError(points: Float64Array, spacingM: number, random: Random): Float64Array {
  const shifted = new Float64Array(points.length);
  const every = max(1, nearest(GPS_WANDERS_OVER_M / spacingM));
  const last = points.length - 1;
  let from = 0;
  let to = 0;
  for (let i = 0; i <= last; i++) {
    const phase = i % every;
    if (phase === 0) {
      from = to;
      to = i + 2 * every > last ? 0 : GPS_ERROR_M * random.noise();
    }
    const blend = (1 - cos((Math.PI * phase) / every)) / 2;
    shifted[i] = points[i]! + from + (to - from) * blend;
  }
  return shifted;
}
