import { type Activity } from './activity.js';
import { type AthleteProfile, createAthleteProfile } from './athlete-profile.js';
import { floor, max, min, nearest } from './maths.js';
import { planOf } from './plan.js';
import { fractionOf, mix, seed32 } from './random.js';
import { SESSIONS } from './sessions.js';
import { momentOfLocal } from './time-zones.js';
import { type Day, DAY_MS, type Slot, dayOf, usualPerDay } from './week.js';

interface HistoryOptions {
  seed: number;
  count: number;
  /** The newest activity ends shortly before this moment. */
  endsAtMs: number;
  /** Share of manual entries, 0 to 1. The number of manual entries differs from this share by at most one. Default 0.03. */
  manualShare?: number;
  /** Share of "Only you" activities, 0 to 1, spread evenly. Default 0. */
  privateShare?: number;
  /** This many of the newest activities are "Only you". With a whole page of them, Strava's first page is empty. Default 0. */
  privateNewest?: number;
  /** Default: `createAthleteProfile(seed)`. */
  athlete?: AthleteProfile;
  /**
   * Lower bound of the ids. The oldest id is at most 7 above this bound. Each newer id is 1 to 15 above the previous id.
   * Default: each seed has another block of ids below 2^53.
   */
  firstId?: bigint;
}

const ONLY_YOU = { overrides: { private: true, visibility: 'only_me' } } as const;
const ID_STRIDE = 8;
// A long history gets more activities a day instead of more years, because no athlete has forty years of GPS files.
const LONGEST_LIFE_DAYS = 20 * 365;

/**
 * An athlete's history, newest first. The workouts of a day depend on the athlete, the seed and the day. In a long history
 * `count` adds walks. The index of an activity decides id, `manual` and privacy.
 */
export function createHistory(options: HistoryOptions): Activity[] {
  const { count, endsAtMs, manualShare = 0.03, privateShare = 0, privateNewest = 0 } = options;
  const seed = seed32(options.seed);
  const athlete = options.athlete ?? createAthleteProfile(options.seed);
  const firstId = options.firstId ?? firstIdOf(seed);
  const extraWalks = min(9, max(0, count / LONGEST_LIFE_DAYS - usualPerDay(athlete)));

  const activities: Activity[] = [];
  // The loop starts one day later, because the local date may be a day ahead of UTC.
  for (let dayNumber = floor(endsAtMs / DAY_MS) + 1; activities.length < count; dayNumber--) {
    const day = dayOf(athlete, seed, dayNumber, extraWalks);
    for (let i = day.slots.length - 1; i >= 0 && activities.length < count; i--) {
      const index = activities.length;
      const activity = {
        id: String(firstId + BigInt(idOffset(seed, count - 1 - index))),
        seed: mix(seed, dayNumber, i),
        athlete,
        manual: isChosen(index, manualShare),
        ...((index < privateNewest || isChosen(index, privateShare)) && ONLY_YOU),
        ...placed(day, dayNumber, day.slots[i] as Slot),
      };
      const newer = activities.at(-1);
      // After a flight east, the activities of the next day may begin before the last evening session has ended.
      const hasFlown = newer !== undefined && newer.place !== activity.place;
      if (endsBefore(activity, hasFlown ? newer.startMs : endsAtMs)) activities.push(activity);
    }
  }
  return activities;
}

type Placed = Pick<
  Activity,
  'place' | 'startMs' | 'sport' | 'session' | 'amount' | 'form' | 'indoor' | 'commute'
>;

function placed(day: Day, dayNumber: number, slot: Slot): Placed {
  const localMs = dayNumber * DAY_MS + nearest(slot.minute * 60) * 1000;
  return {
    place: day.place,
    startMs: momentOfLocal(day.place.timeZone, localMs),
    sport: slot.sport,
    session: SESSIONS[slot.session],
    amount: slot.amount,
    form: day.season.form,
    indoor: slot.indoor,
    commute: slot.commute,
  };
}

function endsBefore(activity: Activity, endsAtMs: number): boolean {
  const isSurely = activity.startMs < endsAtMs - DAY_MS;
  return isSurely || activity.startMs + planOf(activity).elapsedS * 1000 < endsAtMs;
}

/** True for a share of the indexes, spread evenly. */
function isChosen(index: number, share: number): boolean {
  return floor((index + 0.5) * share + 0.5) < floor((index + 1.5) * share + 0.5);
}

function idOffset(seed: number, ordinal: number): number {
  return ordinal * ID_STRIDE + floor(ID_STRIDE * fractionOf(seed, 'id', ordinal));
}

/** Each seed has a block of a million ids, which is enough for 125,000 activities. */
function firstIdOf(seed: number): bigint {
  return 10_000_000_000n + BigInt(seed) * 1_000_000n;
}
