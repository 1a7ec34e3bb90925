import { type Activity, type ActivityOverrides, type RequestedStop } from './activity.js';
import { isIndoor, modelledSportOf, type SportType, type StravaSport } from './sport-type.js';
import { type AthleteProfile } from './athlete-profile.js';
import { hashText, seed32 } from './random.js';
import {
  type Block,
  type Part,
  type Profile,
  type SegmentKind,
  type Session,
  type SessionKey,
  SESSIONS,
  isRepeats,
} from './sessions.js';
import { effortOfPace, isRide, isRun } from './sport-model.js';
import { type StreamKey } from './stream-keys.js';

/** Options of an activity that is made to order. The profile and the seed decide omitted fields. */
export interface ActivityOptions {
  id: string;
  athlete: AthleteProfile;
  startMs: number;
  /** Default: derived from the id. */
  seed?: number;
  sport?: StravaSport;
  /** Default: `intervals` if repetitions are given, else the usual profile of the sport. */
  profile?: Profile;
  repetitions?: number;
  /** Length of a repetition. Set either this field or `repetitionDurationS`. */
  repetitionDistanceM?: number;
  repetitionDurationS?: number;
  recoveryDurationS?: number;
  recovery?: 'jog' | 'stand';
  warmupS?: number;
  cooldownS?: number;
  /** Pace of the repetitions or of the hardest block. For an even activity, the pace of the whole activity. */
  paceSPerKm?: number;
  /** Power of a ride. It takes precedence over `paceSPerKm`. */
  powerW?: number;
  /** Duration of the activity, for profiles without repetitions. */
  durationS?: number;
  distanceM?: number;
  stops?: RequestedStop[];
  /** Default: no channel is missing. The activity then has every channel that the sport can have. */
  missingChannels?: StreamKey[];
  heartRateDriftPercent?: number;
  photos?: number;
  manual?: boolean;
  indoor?: boolean;
  commute?: boolean;
  overrides?: ActivityOverrides;
}

export function createActivity(options: ActivityOptions): Activity {
  const { athlete } = options;
  const profile = options.profile ?? usualProfile(options);
  const named = options.sport ?? usualSport(profile);
  const sport = modelledSportOf(named);
  return {
    id: options.id,
    seed: seed32(options.seed ?? hashText(options.id)),
    athlete,
    place: athlete.place,
    startMs: options.startMs,
    sport,
    namedSport: named === sport ? undefined : named,
    session: sessionFor(options, profile, sport),
    amount: 1,
    form: 1,
    manual: options.manual ?? profile === 'manual',
    indoor: options.indoor ?? isIndoor(named),
    commute: options.commute ?? false,
    wishes: {
      missingChannels: options.missingChannels ?? [],
      stops: options.stops,
      photos: options.photos,
      heartRateDriftPercent: options.heartRateDriftPercent,
    },
    overrides: options.overrides,
  };
}

function usualProfile(options: ActivityOptions): Profile {
  if (options.repetitions !== undefined) return 'intervals';
  switch (modelledSportOf(options.sport ?? 'Run')) {
    case 'Run':
    case 'TrailRun':
      return 'easy';
    case 'Ride':
    case 'VirtualRide':
      return 'ride';
    case 'Walk':
      return 'walk';
    case 'Hike':
      return 'hike';
    case 'Swim':
      return 'swim';
    case 'WeightTraining':
      return 'strength';
  }
}

function usualSport(profile: Profile): SportType {
  return SESSIONS[TEMPLATE[profile]].sports[0];
}

const TEMPLATE: Record<Profile, SessionKey> = {
  easy: 'easy',
  recovery: 'recovery',
  steady: 'steady',
  tempo: 'tempo',
  progression: 'progression5',
  intervals: 'reps6x800',
  hills: 'hills8x60',
  long: 'long',
  race: 'race10k',
  ride: 'rideEndurance',
  walk: 'walk',
  hike: 'hike',
  swim: 'swim',
  strength: 'strength',
  manual: 'easy',
};

function sessionFor(options: ActivityOptions, profile: Profile, sport: SportType): Session {
  const template: Session =
    SESSIONS[profile === 'intervals' && isRide(sport) ? 'ride5x5min' : TEMPLATE[profile]];
  const hasRepeats = template.parts.some(isRepeats);
  const parts = template.parts.map((part) => (isRepeats(part) ? repeats(part, options, sport) : part));
  const fitted = hasRepeats
    ? parts.map((part) => (isRepeats(part) ? part : framed(part, options)))
    : resized(parts as Block[], options, sport);
  const isOnTrack = template.venue === 'track' && (options.repetitionDistanceM ?? 0) > 0 && isRun(sport);
  return {
    name: nameOf(options, template),
    profile,
    sports: [sport],
    parts: fitted.filter((part) => isRepeats(part) || part.seconds !== 0),
    venue: template.venue === 'track' && !isOnTrack ? undefined : template.venue,
  };
}

function repeats(part: Extract<Part, { works: unknown }>, options: ActivityOptions, sport: SportType): Part {
  const usual = part.works[0] as Block;
  const { repetitionDistanceM, repetitionDurationS, recoveryDurationS } = options;
  const isSized = repetitionDistanceM !== undefined || repetitionDurationS !== undefined;
  const work: Block = {
    ...usual,
    ...(isSized ? { metres: repetitionDistanceM, seconds: repetitionDurationS } : {}),
    ...steered(usual, usual.effort, options, sport),
  };
  const recovery: Block =
    recoveryDurationS === undefined ? part.recovery : { ...part.recovery, seconds: recoveryDurationS };
  const count = Math.max(1, Math.round(options.repetitions ?? part.works.length));
  return {
    works: Array.from({ length: count }, () => work),
    // The recovery of a hill repetition is always the run back down.
    recovery: options.recovery === 'stand' && !recovery.backDown ? standing(recovery) : recovery,
  };
}

function standing(recovery: Block): Block {
  return { ...recovery, effort: 0, load: 0, seconds: recovery.seconds ?? 60 };
}

/** Applies the requested length to a warm-up or cool-down. */
function framed(block: Block, options: ActivityOptions): Block {
  const seconds = block.kind === 'warmup' ? options.warmupS : options.cooldownS;
  return seconds === undefined ? block : { ...block, metres: undefined, seconds, open: undefined };
}

/** Scales a session without repetitions to the requested length and pace. */
function resized(blocks: Block[], options: ActivityOptions, sport: SportType): Block[] {
  const { durationS, distanceM } = options;
  const hardest = Math.max(...blocks.map((block) => block.effort));
  const paced = blocks.map((block) =>
    framed({ ...block, ...steered(block, hardest, options, sport) }, options),
  );
  if (distanceM !== undefined && durationS !== undefined)
    return [exactly(distanceM, durationS, options, sport)];
  const [only] = paced;
  if (distanceM !== undefined && only && paced.length === 1) {
    return [{ ...only, seconds: undefined, metres: distanceM }];
  }
  if (durationS === undefined) return paced;
  const total = paced.reduce((sum, block) => sum + (block.seconds ?? 0), 0);
  if (total === 0 && only) return [{ ...only, metres: undefined, seconds: durationS }];
  return paced.map((block) => ({
    ...block,
    seconds: Math.round(((block.seconds ?? 0) * durationS) / total),
  }));
}

function exactly(distanceM: number, durationS: number, options: ActivityOptions, sport: SportType): Block {
  const paceSPerKm = (1000 * durationS) / distanceM;
  return {
    kind: 'steady',
    effort: effortOfPace(sport, options.athlete, paceSPerKm) ?? 1,
    metres: distanceM,
    seconds: durationS,
  };
}

/**
 * The hardest block gets the requested pace or power. Easier blocks keep their ratio to the hardest block. Warm-up, recoveries
 * and cool-down keep their usual effort.
 */
function steered(block: Block, hardest: number, options: ActivityOptions, sport: SportType): Partial<Block> {
  const wished = requestedEffort(options, sport);
  if (wished === undefined || EASY_KINDS.has(block.kind)) return {};
  return { effort: (wished * block.effort) / hardest };
}

const EASY_KINDS: ReadonlySet<SegmentKind> = new Set(['warmup', 'cooldown', 'recovery']);

function requestedEffort(options: ActivityOptions, sport: SportType): number | undefined {
  const { powerW, paceSPerKm, athlete } = options;
  if (isRide(sport) && powerW !== undefined) return powerW / athlete.ftpWatts;
  return paceSPerKm === undefined ? undefined : effortOfPace(sport, athlete, paceSPerKm);
}

function nameOf(options: ActivityOptions, template: Session): string {
  const { repetitions, repetitionDistanceM, repetitionDurationS } = options;
  if (repetitionDistanceM !== undefined) return `${repetitions ?? 6} x ${repetitionDistanceM} m`;
  if (repetitionDurationS !== undefined) return `${repetitions ?? 6} x ${repetitionDurationS} s`;
  return repetitions === undefined ? template.name : `${repetitions} repetitions`;
}
