import { type Activity } from '../activity.js';
import { hasChannel } from '../channels.js';
import { heightAlong } from '../course.js';
import { localIso, shownStartMs } from '../local-time.js';
import { ceil, max, min } from '../maths.js';
import { mix } from '../random.js';
import { round } from '../rounding.js';
import { cadenceAt, isRide } from '../sport-model.js';
import { isoSeconds } from '../iso-time.js';
import { endOf, type Mark, marksAt, START } from '../timeline.js';

import { stepWatts } from '../totals.js';
import { type Lap } from './shapes.js';
import { type Facts, factsOf } from './facts.js';

const AUTO_LAP_M = 1000;
const RIDE_LAP_M = 5000;
const LAP_IDS = 40_000_000_000;

/** Workouts were lapped by hand or by the plan on the watch, everything else by distance. Manual entries have none. */
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

/** Undefined where Strava leaves a field out, for the reason given at `summaryFrom`. */
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
    start_date_local: localIso(activity, from.elapsedS),
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
    device_watts: hasPower ? hasChannel(activity, 'watts') : undefined,
    average_watts: hasPower ? round(wattsBetween(facts, from, to), 1) : undefined,
    average_heartrate: heartRate ? round(heartRate.meanBetween(from.elapsedS, to.elapsedS), 1) : undefined,
    max_heartrate: heartRate
      ? min(heartRate.max, ceil(heartRate.highestBetween(from.elapsedS, to.elapsedS)))
      : undefined,
  };
}

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
