import { floor } from './maths.js';
import { fractionOf } from './random.js';

type Phase = 'off' | 'base' | 'build' | 'race';

/** The state of one week in the 26-week training cycle. */
export interface Season {
  readonly phase: Phase;
  /** Factor on the length of the sessions; 1 is the length in `SESSIONS`. */
  readonly volume: number;
  /** Fitness relative to the athlete's profile. */
  readonly form: number;
  readonly isIll: boolean;
}

const CYCLE_WEEKS = 26;

// Half a year with the phases break, base, build and races. Form follows the training with a delay.
const CYCLE: readonly { phase: Phase; untilWeek: number; volume: number; form: number }[] = [
  { phase: 'off', untilWeek: 3, volume: 0.6, form: 0.95 },
  { phase: 'base', untilWeek: 12, volume: 0.95, form: 0.96 },
  { phase: 'build', untilWeek: 21, volume: 1.15, form: 0.99 },
  { phase: 'race', untilWeek: 26, volume: 0.85, form: 1.02 },
];

/** `week` counts from the week of Monday, 29 December 1969. */
export function seasonOf(seed: number, week: number): Season {
  const offset = floor(CYCLE_WEEKS * fractionOf(seed, 'cycle'));
  const weekOfCycle = (((week + offset) % CYCLE_WEEKS) + CYCLE_WEEKS) % CYCLE_WEEKS;
  const stage = CYCLE.find(({ untilWeek }) => weekOfCycle < untilWeek) ?? CYCLE[0]!;
  const isEasyWeek = weekOfCycle % 4 === 2 && stage.phase !== 'off';
  const chance = 0.9 + 0.2 * fractionOf(seed, 'week volume', week);
  return {
    phase: stage.phase,
    volume: stage.volume * chance * (isEasyWeek ? 0.75 : 1),
    form: stage.form + 0.01 * (fractionOf(seed, 'week form', week) - 0.5),
    isIll: fractionOf(seed, 'ill', week) < 0.03,
  };
}
