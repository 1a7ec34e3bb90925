import { type Activity } from '../activity.js';
import { hasChannel } from '../channels.js';
import { heightAlong } from '../course.js';
import { stravaLocalIso, shownStartMs } from '../local-time.js';
import { ceil, max, min, round } from '../maths.js';
import { mix } from '../random.js';
import { cadenceAt, isRide, isRun } from '../sport-model.js';
import { isoSeconds } from '../iso-time.js';
import { endOf, type Mark, marksAt, START } from '../timeline.js';
import { stepWatts } from '../totals.js';
import { type Lap, type Split } from './shapes.js';
import { type Facts, factsOf } from './summary.js';

const AUTO_LAP_M = 1000;
const RIDE_LAP_M = 5000;
const LAP_IDS = 40_000_000_000;

/** A workout has one lap per segment. Other activities have laps of equal distance. Manual entries have no laps. */
export function lapsOf(activity: Activity): Lap[] {
  return lapsFrom(factsOf(activity));
}

export function lapsFrom(facts: Facts): Lap[] {
  if (facts.activity.manual) return [];
  let from = START;
  return lapEnds(facts).map((to, index) => {
    const lap = lapBetween(facts, from, to, index + 1);
    from = to;
    return lap;
  });
}

function lapEnds({ activity, plan }: Facts): Mark[] {
  const { segments } = plan;
  if (segments.length > 1) return segmentEnds(plan);
  const lapM = isRide(activity.sport) ? RIDE_LAP_M : AUTO_LAP_M;
  const distances = [];
  for (let metres = lapM; metres < plan.metres - 1; metres += lapM) distances.push(metres);
  return [...marksAt(plan, distances), endOf(plan)];
}

function segmentEnds(plan: Facts['plan']): Mark[] {
  const ends: Mark[] = [];
  let metres = 0;
  let movingS = 0;
  let pausedS = 0;
  let step = 0;
  for (const segment of plan.segments) {
    const elapsedS = segment.startS + segment.durationS;
    for (; step < plan.steps.length && plan.steps[step]!.startS < elapsedS; step++) {
      if (plan.steps[step]!.motion === 'paused') pausedS += plan.steps[step]!.durationS;
    }
    metres += segment.metres;
    movingS += segment.movingS;
    ends.push({ metres, elapsedS, movingS, index: elapsedS - pausedS });
  }
  return ends;
}

/** A field is undefined if Strava leaves it out. The comment of `summaryFrom` gives the reason. */
function lapBetween(facts: Facts, from: Mark, to: Mark, number: number): Lap {
  const { activity, totals, course } = facts;
  const { heartRate } = totals;
  const hasPower = totals.averageWatts !== null;
  const metres = to.metres - from.metres;
  const movingS = to.movingS - from.movingS;
  const speed = movingS > 0 ? metres / movingS : 0;
  const climb = course ? heightAlong(course, to.metres) - heightAlong(course, from.metres) : 0;
  return {
    id: String(LAP_IDS + mix(activity.seed, number)),
    resource_state: 2,
    name: `Lap ${number}`,
    activity: {
      id: activity.id,
      visibility: activity.overrides?.visibility ?? 'everyone',
      resource_state: 1,
    },
    athlete: { id: activity.athlete.id, resource_state: 1 },
    elapsed_time: to.elapsedS - from.elapsedS,
    moving_time: movingS,
    start_date: isoSeconds(shownStartMs(activity) + from.elapsedS * 1000),
    start_date_local: stravaLocalIso(activity, from.elapsedS),
    distance: round(metres, 2),
    average_speed: round(speed, 3),
    max_speed: round(min(totals.maxSpeed, speed * 1.08), 3),
    lap_index: number,
    split: number,
    start_index: from.index,
    end_index: to.index,
    total_elevation_gain: round(max(0, climb), 1),
    average_cadence:
      totals.averageCadence !== null && speed > 0 ? round(cadenceAt(activity.sport, speed), 1) : undefined,
    pace_zone: isRun(activity.sport) ? paceZoneOf(activity, speed) : undefined,
    device_watts: hasPower ? hasChannel(activity, 'watts') : undefined,
    average_watts: hasPower ? round(wattsBetween(facts, from, to), 1) : undefined,
    average_heartrate: heartRate ? round(heartRate.meanBetween(from.elapsedS, to.elapsedS), 1) : undefined,
    max_heartrate: heartRate
      ? min(heartRate.max, ceil(heartRate.highestBetween(from.elapsedS, to.elapsedS)))
      : undefined,
  };
}

/** A pace zone from 1 to 6, by the share of threshold speed. 0 if the athlete stands. */
function paceZoneOf({ athlete }: Activity, speed: number): number {
  if (speed === 0) return 0;
  const share = (speed * athlete.thresholdPaceSPerKm) / 1000;
  return 1 + PACE_ZONES_BEGIN.filter((begin) => share >= begin).length;
}

const PACE_ZONES_BEGIN = [0.78, 0.88, 0.94, 1, 1.11];

function wattsBetween({ activity, plan }: Facts, from: Mark, to: Mark): number {
  let joules = 0;
  let seconds = 0;
  for (const step of plan.steps) {
    if (step.motion !== 'moving') continue;
    const overlap = min(to.elapsedS, step.startS + step.durationS) - max(from.elapsedS, step.startS);
    if (overlap <= 0) continue;
    joules += overlap * stepWatts(activity, step);
    seconds += overlap;
  }
  return seconds > 0 ? joules / seconds : 0;
}

/** One split for each kilometre or mile, and one for the rest. */
export function splitsFrom(facts: Facts, unitM = 1000): Split[] {
  const { plan } = facts;
  const distances = [];
  for (let metres = unitM; metres < plan.metres - 1; metres += unitM) distances.push(metres);
  let from = START;
  return [...marksAt(plan, distances), endOf(plan)].map((to, index) => {
    const split = splitBetween(facts, from, to, index + 1);
    from = to;
    return split;
  });
}

function splitBetween({ course, totals }: Facts, from: Mark, to: Mark, number: number): Split {
  const metres = to.metres - from.metres;
  const movingS = to.movingS - from.movingS;
  const speed = movingS > 0 ? round(metres / movingS, 3) : 0;
  const climb = course ? heightAlong(course, to.metres) - heightAlong(course, from.metres) : 0;
  return {
    distance: round(metres, 1),
    elapsed_time: to.elapsedS - from.elapsedS,
    elevation_difference: round(climb, 1),
    moving_time: movingS,
    split: number,
    average_speed: speed,
    average_grade_adjusted_speed: course ? round(speed * (1 + (3 * climb) / max(1, metres)), 3) : null,
    average_heartrate: totals.heartRate
      ? round(totals.heartRate.meanBetween(from.elapsedS, to.elapsedS), 3)
      : undefined,
    pace_zone: 0,
  };
}
