import { type SportType } from './sport-type.js';

export type Profile =
  | 'easy'
  | 'recovery'
  | 'steady'
  | 'tempo'
  | 'progression'
  | 'intervals'
  | 'hills'
  | 'long'
  | 'race'
  | 'ride'
  | 'walk'
  | 'hike'
  | 'swim'
  | 'strength'
  | 'manual';

export type SegmentKind = 'warmup' | 'work' | 'recovery' | 'steady' | 'cooldown' | 'climb';

export interface Block {
  readonly kind: SegmentKind;
  /** Fraction of threshold speed (on foot, swimming) or of FTP (on a bike); 0 stands still. */
  readonly effort: number;
  /** Load on the heart, if it differs from the effort, for example uphill. */
  readonly load?: number;
  /**
   * Length of the block: `seconds` or `metres`. With `backDown` the block has the metres of the previous block. If a block has
   * metres and seconds, they set the speed.
   */
  readonly seconds?: number;
  readonly metres?: number;
  readonly backDown?: true;
  /** True: the activity's `amount` scales the length of this block. Repetitions are never scaled. */
  readonly open?: true;
}

/** Repetitions with the same recovery between any two of them. */
interface Repeats {
  readonly works: readonly Block[];
  readonly recovery: Block;
}

export type Part = Block | Repeats;

export interface Session {
  readonly name: string;
  readonly profile: Profile;
  readonly sports: readonly SportType[];
  readonly parts: readonly Part[];
  readonly venue?: 'track' | 'hill';
}

export function isRepeats(part: Part): part is Repeats {
  return 'works' in part;
}

// Efforts differ clearly, so that a profile can be recognised. Recovery is 0.66, easy 0.76, steady 0.86, work at least 0.94.
const ON_FOOT: readonly SportType[] = ['Run', 'TrailRun'];
const ON_ROAD: readonly SportType[] = ['Run'];
const BY_BIKE: readonly SportType[] = ['Ride', 'VirtualRide'];
const RIDE: readonly SportType[] = ['Ride'];

const warmup = open('warmup', 0.74, 720);
const cooldown = open('cooldown', 0.7, 600);
const spinUp = open('warmup', 0.55, 720);
const spinDown = open('cooldown', 0.45, 480);

export const SESSIONS = {
  easy: whole('Easy run', 'easy', ON_FOOT, open('steady', 0.76, 2700)),
  recovery: whole('Recovery run', 'recovery', ON_ROAD, open('steady', 0.66, 1680)),
  steady: whole('Steady run', 'steady', ON_ROAD, open('steady', 0.86, 2700)),
  long: whole('Long run', 'long', ON_FOOT, open('steady', 0.76, 6600)),

  tempo: around('Tempo', 'tempo', ON_ROAD, [{ kind: 'work', effort: 0.96, seconds: 1500 }]),
  longTempo: around('Long tempo', 'tempo', ON_ROAD, [{ kind: 'work', effort: 0.94, seconds: 2400 }]),

  progression5: ramp('Progression', [0.74, 0.8, 0.86, 0.92, 0.98], 600),
  progression3: ramp('Thirds', [0.74, 0.84, 0.95], 1080),

  reps6x800: intervals('6 x 800 m', repeat(6, metres(800, 1.06)), jog(120), 'track'),
  reps10x400: intervals('10 x 400 m', repeat(10, metres(400, 1.11)), jog(90), 'track'),
  reps12x400: intervals('12 x 400 m', repeat(12, metres(400, 1.1)), stand(75), 'track'),
  reps12x200: intervals('12 x 200 m', repeat(12, metres(200, 1.17)), stand(60), 'track'),
  reps5x1000: intervals('5 x 1 km', repeat(5, metres(1000, 1.04)), jog(150)),
  reps6x1000: intervals('6 x 1 km', repeat(6, metres(1000, 1.03)), stand(120), 'track'),
  reps4x8min: intervals('4 x 8 min', repeat(4, minutes(8, 0.99)), jog(120)),
  reps3x10min: intervals('3 x 10 min', repeat(3, minutes(10, 0.98)), jog(120)),
  reps8x3min: intervals('8 x 3 min', repeat(8, minutes(3, 1.05)), jog(90)),
  reps12x1min: intervals('12 x 1 min', repeat(12, minutes(1, 1.12)), jog(60)),
  ladderMinutes: intervals('Ladder 1-2-3-4-3-2-1 min', ladder(minutes, [1, 2, 3, 4, 3, 2, 1], 1.05), jog(90)),
  ladderMetres: intervals(
    'Ladder 400-800-1200-800-400 m',
    ladder(metres, [400, 800, 1200, 800, 400], 1.06),
    jog(120),
    'track',
  ),

  hills8x60: hills('8 x 60 s uphill', 8, 60),
  hills10x45: hills('10 x 45 s uphill', 10, 45),
  hills6x90: hills('6 x 90 s uphill', 6, 90),

  race5k: race('5 km race', 5000, 1.05),
  race10k: race('10 km race', 10_000, 1.01),
  raceHalf: race('Half marathon', 21_098, 0.95),
  raceMarathon: race('Marathon', 42_195, 0.88),

  rideEndurance: whole('Endurance ride', 'ride', RIDE, open('steady', 0.65, 6300)),
  rideLong: whole('Long ride', 'ride', RIDE, open('steady', 0.62, 11_400)),
  rideRecovery: whole('Recovery spin', 'ride', BY_BIKE, open('steady', 0.48, 2400)),
  commute: whole('Commute', 'ride', RIDE, open('steady', 0.55, 1320)),
  ride3x10min: rideIntervals('3 x 10 min', repeat(3, minutes(10, 0.97)), spin(240)),
  ride4x8min: rideIntervals('4 x 8 min', repeat(4, minutes(8, 1)), spin(180)),
  ride5x5min: rideIntervals('5 x 5 min', repeat(5, minutes(5, 1.08)), spin(180)),
  ride10x1min: rideIntervals('10 x 1 min', repeat(10, minutes(1, 1.3)), spin(90)),

  walk: whole('Walk', 'walk', ['Walk'], open('steady', 1, 2100)),
  stroll: whole('Round the block', 'walk', ['Walk'], { kind: 'steady', effort: 0.95, seconds: 1080 }),
  hike: whole('Hike', 'hike', ['Hike'], open('steady', 1, 9000)),
  swim: {
    name: 'Swim 10 x 100 m',
    profile: 'swim',
    sports: ['Swim'],
    parts: [
      { kind: 'warmup', effort: 0.85, metres: 300 },
      { works: repeat(10, metres(100, 1)), recovery: stand(20) },
      { kind: 'cooldown', effort: 0.8, metres: 200 },
    ],
  },
  strength: whole('Strength', 'strength', ['WeightTraining'], open('steady', 1, 2700)),
} as const satisfies Record<string, Session>;

export type SessionKey = keyof typeof SESSIONS;

function open(kind: SegmentKind, effort: number, seconds: number): Block {
  return { kind, effort, seconds, open: true };
}

function metres(length: number, effort: number): Block {
  return { kind: 'work', effort, metres: length };
}

function minutes(length: number, effort: number): Block {
  return { kind: 'work', effort, seconds: length * 60 };
}

function jog(seconds: number): Block {
  return { kind: 'recovery', effort: 0.62, seconds };
}

function spin(seconds: number): Block {
  return { kind: 'recovery', effort: 0.45, seconds };
}

function stand(seconds: number): Block {
  return { kind: 'recovery', effort: 0, seconds };
}

function repeat(times: number, work: Block): Block[] {
  return Array.from({ length: times }, () => work);
}

function ladder(rung: (length: number, effort: number) => Block, lengths: number[], effort: number): Block[] {
  const longest = Math.max(...lengths);
  // The athlete runs the short parts of a ladder a little faster than the long parts.
  return lengths.map((length) => rung(length, effort + 0.04 * (1 - length / longest)));
}

function whole(name: string, profile: Profile, sports: readonly SportType[], block: Block): Session {
  return { name, profile, sports, parts: [block] };
}

function race(name: string, length: number, effort: number): Session {
  return whole(name, 'race', ON_ROAD, { kind: 'steady', effort, metres: length });
}

function ramp(name: string, efforts: number[], seconds: number): Session {
  const parts = efforts.map((effort) => open('steady', effort, seconds));
  return { name, profile: 'progression', sports: ON_ROAD, parts };
}

function around(name: string, profile: Profile, sports: readonly SportType[], middle: Part[]): Session {
  return { name, profile, sports, parts: [warmup, ...middle, cooldown] };
}

function intervals(name: string, works: Block[], recovery: Block, venue?: 'track'): Session {
  return { ...around(name, 'intervals', ON_ROAD, [{ works, recovery }]), venue };
}

function rideIntervals(name: string, works: Block[], recovery: Block): Session {
  return { name, profile: 'intervals', sports: BY_BIKE, parts: [spinUp, { works, recovery }, spinDown] };
}

function hills(name: string, times: number, seconds: number): Session {
  const climb: Block = { kind: 'climb', effort: 0.82, load: 1.06, seconds };
  const jogDown: Block = { kind: 'recovery', effort: 0.66, load: 0.6, backDown: true };
  return {
    ...around(name, 'hills', ON_FOOT, [{ works: repeat(times, climb), recovery: jogDown }]),
    venue: 'hill',
  };
}
