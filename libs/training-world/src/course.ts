import { type Activity } from './activity.js';
import { METRES_PER_DEGREE } from './athlete-profile.js';
import { hasChannel } from './channels.js';
import { ceil, cos, cosine, floor, max, min, nearest, sin, sine } from './maths.js';
import { type Place } from './places.js';
import { type Plan } from './plan.js';
import { fractionOf, mix, type Random, randomFor } from './random.js';
import { type Hill, type Terrain, terrainOf } from './terrain.js';

/**
 * The course as points, with metres east and north of the town's centre, and height. Along the course, neighbouring points are
 * `spacingM` apart, so the course is as long as the distance channel says. The straight line between two points is shorter at
 * a turn on a hill and in the bend of a track.
 */
export interface Course {
  readonly place: Place;
  readonly spacingM: number;
  readonly x: Float64Array;
  readonly y: Float64Array;
  readonly height: Float64Array;
}

/** Resolution of a course: `coarse` for summaries, `map` for details, `fine` for streams. */
type Detail = 'coarse' | 'map' | 'fine';

const FAVOURITE_WAYS = 12;
const FINE_SPACING_M = 12;
const MAP_SPACING_M = 60;
const COARSE_SPACING_M = 330;

/** Null if the activity has neither positions nor heights. */
export function courseOf(activity: Activity, plan: Plan, detail: Detail): Course | null {
  if (!hasChannel(activity, 'latlng') && !hasChannel(activity, 'altitude')) return null;
  const { place, athlete, session } = activity;
  const terrain = terrainOf(place);
  const length = max(1, plan.metres);
  if (session.venue === 'track') return aroundTrack(place, terrain, length, detail);
  if (session.venue === 'hill') return upAndDown(activity, plan, terrain, length, detail);

  const isHome = place === athlete.place;
  const startX = isHome ? athlete.homeEastM : 0;
  const startY = isHome ? athlete.homeNorthM : 0;
  // An athlete repeats a few favourite courses.
  const way = activity.commute ? 0 : floor(FAVOURITE_WAYS * fractionOf(activity.seed, 'way'));
  const random = randomFor(mix(athlete.seed, activity.commute ? 1 : 0), 'way', way);
  const count = pointCount(length, detail);
  const heading = way % 3 === 2 ? outAndBackHeading(random, count) : loopHeading(random, count);
  return walk(place, terrain, startX, startY, length / count, count, heading);
}

/** The number is a multiple of 12. So each half or third of a loop ends at a point, and the turning point is a point. */
function pointCount(length: number, detail: Detail): number {
  const wanted = {
    coarse: min(240, max(24, length / COARSE_SPACING_M)),
    map: min(480, max(36, length / MAP_SPACING_M)),
    fine: length / FINE_SPACING_M,
  }[detail];
  return 12 * max(1, nearest(wanted / 12));
}

type Heading = (step: number) => number;

function walk(
  place: Place,
  terrain: Terrain,
  startX: number,
  startY: number,
  spacingM: number,
  count: number,
  heading: Heading,
): Course {
  const course = emptyCourse(place, spacingM, count);
  let x = startX;
  let y = startY;
  for (let i = 0; i <= count; i++) {
    course.x[i] = x;
    course.y[i] = y;
    course.height[i] = terrain.heightAt(x, y);
    const angle = heading(i);
    x += spacingM * cosine(angle);
    y += spacingM * sine(angle);
  }
  return course;
}

function emptyCourse(place: Place, spacingM: number, count: number): Course {
  return {
    place,
    spacingM,
    x: new Float64Array(count + 1),
    y: new Float64Array(count + 1),
    height: new Float64Array(count + 1),
  };
}

/**
 * One full turn plus bends. The loop has two or three equal parts. Each part is the previous part, rotated by 180° or 120°. So
 * the displacements of the parts cancel and the loop closes exactly.
 */
function loopHeading(random: Random, count: number): Heading {
  const symmetry = random.chance(0.5) ? 2 : 3;
  const start = random.between(0, 2 * Math.PI);
  const turn = random.chance(0.5) ? 1 : -1;
  const bend1 = random.between(0.3, 0.8);
  const phase1 = random.between(0, 2 * Math.PI);
  const bend2 = random.between(0.2, 0.5);
  const phase2 = random.between(0, 2 * Math.PI);
  return (step) => {
    const angle = (2 * Math.PI * (step + 0.5)) / count;
    return (
      start +
      turn * angle +
      bend1 * sine(symmetry * angle + phase1) +
      bend2 * sine(2 * symmetry * angle + phase2)
    );
  };
}

/** Out and back on the same way. Step k from the end has the opposite direction of step k from the start. */
function outAndBackHeading(random: Random, count: number): Heading {
  const bend = bends(random);
  return (step) =>
    step < count / 2 ? bend((step + 0.5) / count) : bend((count - step - 0.5) / count) + Math.PI;
}

function bends(random: Random): (share: number) => number {
  const start = random.between(0, 2 * Math.PI);
  const phase1 = random.between(0, 2 * Math.PI);
  const phase2 = random.between(0, 2 * Math.PI);
  return (share) => start + 0.8 * sine(9 * share + phase1) + 0.5 * sine(31 * share + phase2);
}

const TRACK_STRAIGHT_M = 84.39;
const TRACK_LAP_M = 400;
const TRACK_BEND_M = TRACK_LAP_M / 2 - TRACK_STRAIGHT_M;
const TRACK_RADIUS_M = TRACK_BEND_M / Math.PI;

function aroundTrack(place: Place, terrain: Terrain, length: number, detail: Detail): Course {
  const count = max(2, ceil(length / (detail === 'fine' ? 4 : 25)));
  const course = emptyCourse(place, length / count, count);
  // A track is level, even if the ground around it slopes.
  const height = terrain.heightAt(terrain.track.x, terrain.track.y);
  for (let i = 0; i <= count; i++) {
    const along = (i * course.spacingM) % TRACK_LAP_M;
    const isFirstHalf = along < TRACK_LAP_M / 2;
    const side = isFirstHalf ? 1 : -1;
    const onHalf = isFirstHalf ? along : along - TRACK_LAP_M / 2;
    const bend = max(0, onHalf - TRACK_STRAIGHT_M) / TRACK_RADIUS_M;
    const straight = min(onHalf, TRACK_STRAIGHT_M) - TRACK_STRAIGHT_M / 2;
    course.x[i] = terrain.track.x + side * (straight + TRACK_RADIUS_M * sin(bend));
    course.y[i] = terrain.track.y - side * TRACK_RADIUS_M * cos(bend);
    course.height[i] = height;
  }
  return course;
}

// A turn between two points makes the course shorter than planned. Closer points make this loss smaller.
const FINE_HILL_SPACING_M = 4;
const HILL_SPACING_M = 30;

/** A course to the foot of the town's hill, then up and down the hill as the session plans, and back on the same way. */
function upAndDown(activity: Activity, plan: Plan, terrain: Terrain, length: number, detail: Detail): Course {
  const count = max(2, ceil(length / (detail === 'fine' ? FINE_HILL_SPACING_M : HILL_SPACING_M)));
  const course = emptyCourse(activity.place, length / count, count);
  const approach = approachTo(
    terrain.hill,
    course.spacingM,
    count,
    randomFor(activity.athlete.seed, 'approach'),
  );
  const turns = turnsOf(plan);
  const { footX, footY, dirX, dirY } = terrain.hill;
  let turn = 0;
  for (let i = 0; i <= count; i++) {
    const metres = i * course.spacingM;
    while (turn < turns.length - 2 && metres >= turns[turn + 1]!.metres) turn++;
    const { metres: from, position, sign } = turns[turn]!;
    // Negative: metres before the foot of the hill. Positive: metres up the slope from the foot.
    const onHill = position + sign * (metres - from);
    if (onHill >= 0) {
      course.x[i] = footX + dirX * onHill;
      course.y[i] = footY + dirY * onHill;
    } else {
      const step = min(count - 1, floor(-onHill / course.spacingM));
      const rest = -onHill / course.spacingM - step;
      course.x[i] = approach.x[step]! * (1 - rest) + approach.x[step + 1]! * rest;
      course.y[i] = approach.y[step]! * (1 - rest) + approach.y[step + 1]! * rest;
    }
    course.height[i] = terrain.heightAt(course.x[i]!, course.y[i]!);
  }
  return course;
}

function approachTo(hill: Hill, spacingM: number, count: number, random: Random) {
  const away = Math.atan2(-hill.dirY, -hill.dirX);
  const phase = random.between(0, 2 * Math.PI);
  const x = new Float64Array(count + 1);
  const y = new Float64Array(count + 1);
  x[0] = hill.footX;
  y[0] = hill.footY;
  for (let i = 0; i < count; i++) {
    const metres = (i + 0.5) * spacingM;
    const angle = away + 0.6 * sin(metres / 260 + phase) + 0.4 * sin(metres / 700);
    x[i + 1] = x[i]! + spacingM * cos(angle);
    y[i + 1] = y[i]! + spacingM * sin(angle);
  }
  return { x, y };
}

/** Start and direction of each segment, on a line from the approach to the top of the hill. 0 is the foot of the hill. */
function turnsOf(plan: Plan): { metres: number; position: number; sign: number }[] {
  const warmupM = plan.segments.find((segment) => segment.kind === 'warmup')?.metres ?? 0;
  let metres = 0;
  let position = -warmupM;
  const turns = plan.segments.map((segment) => {
    const sign = segment.kind === 'recovery' || segment.kind === 'cooldown' ? -1 : 1;
    const turn = { metres, position, sign };
    metres += segment.metres;
    position += sign * segment.metres;
    return turn;
  });
  return [...turns, { metres, position, sign: -1 }];
}

interface Climbing {
  readonly gainM: number;
  readonly highestM: number;
  readonly lowestM: number;
}

export function climbingOf(course: Course): Climbing {
  const { height } = course;
  let gainM = 0;
  let highestM = height[0]!;
  let lowestM = height[0]!;
  for (let i = 1; i < height.length; i++) {
    const here = height[i]!;
    gainM += max(0, here - height[i - 1]!);
    if (here > highestM) highestM = here;
    if (here < lowestM) lowestM = here;
  }
  return { gainM, highestM, lowestM };
}

export function heightAlong(course: Course, metres: number): number {
  const { height, spacingM } = course;
  const at = min(height.length - 1, max(0, metres / spacingM));
  const before = min(height.length - 2, floor(at));
  return height[before]! + (height[before + 1]! - height[before]!) * (at - before);
}

export function latitudeOf(place: Place, y: number): number {
  return place.lat + y / METRES_PER_DEGREE;
}

export function longitudeOf(place: Place, x: number): number {
  return place.lng + x / metresPerDegreeEast(place);
}

export function metresPerDegreeEast(place: Place): number {
  return METRES_PER_DEGREE * cos((place.lat * Math.PI) / 180);
}
