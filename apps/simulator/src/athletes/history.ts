import { type Activity } from './activity.js';
import { type AthleteProfile, createAthleteProfile } from './athlete-profile.js';
import { floor, max, min, nearest } from './maths.js';
import { planOf } from './plan.js';
import { fractionOf, mix, seed32 } from './random.js';
import { SESSIONS } from './sessions.js';
import { momentOfLocal } from './time-zones.js';
import { type Day, DAY_MS, type Slot, dayOf, usualPerDay } from './week.js';

export interface HistoryOptions {
  seed: number;
  count: number;
  /** The newest activity ends shortly before this moment. */
  endsAtMs: number;
  /** Share of entries typed in by hand, 0 to 1; the number of them is exact to one. Default 0.03. */
  manualShare?: number;
  /** Default: `createAthleteProfile(seed)`. */
  athlete?: AthleteProfile;
  /** Id of the oldest activity; newer ones count up from it by at most 16. Default: a block of its own per seed, below 2^53. */
  firstId?: bigint;
}

const ID_STRIDE = 8;
// Longer lives are packed tighter: nobody has forty years of GPS files.
const LONGEST_LIFE_DAYS = 20 * 365;

/** A training life, newest first. Each activity depends on the seed and its own day only. */
export function createHistory(options: HistoryOptions): Activity[] {
  const { count, endsAtMs, manualShare = 0.03 } = options;
  const seed = seed32(options.seed);
  const athlete = options.athlete ?? createAthleteProfile(options.seed);
  const firstId = options.firstId ?? firstIdOf(seed);
  const extraWalks = min(9, max(0, count / LONGEST_LIFE_DAYS - usualPerDay(athlete)));

  const activities: Activity[] = [];
  // One day of slack: the local calendar may already be a day further than UTC.
  for (let dayNumber = floor(endsAtMs / DAY_MS) + 1; activities.length < count; dayNumber--) {
    const day = dayOf(athlete, seed, dayNumber, extraWalks);
    for (let i = day.slots.length - 1; i >= 0 && activities.length < count; i--) {
      const index = activities.length;
      const activity = {
        id: String(firstId + BigInt(idOffset(seed, count - 1 - index))),
        seed: mix(seed, dayNumber, i),
        athlete,
        manual: isManual(index, manualShare),
        ...placed(day, dayNumber, day.slots[i] as Slot),
      };
      const newer = activities.at(-1);
      // Whoever has flown east begins the next day before the last one's evening session.
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

/** Spread evenly, so that the number is exact and not left to chance. */
function isManual(index: number, share: number): boolean {
  return floor((index + 0.5) * share + 0.5) < floor((index + 1.5) * share + 0.5);
}

function idOffset(seed: number, ordinal: number): number {
  return ordinal * ID_STRIDE + floor(ID_STRIDE * fractionOf(seed, 'id', ordinal));
}

/** Blocks of a million ids: different seeds never share one. */
function firstIdOf(seed: number): bigint {
  return 10_000_000_000n + BigInt(seed) * 1_000_000n;
}
