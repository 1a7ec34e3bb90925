import { type Schema } from '../../app/api.js';
import { type Tone } from '../../parts/badge.js';

type Minute = Schema<'GateMinuteAnswer'>;

export interface Cause {
  readonly cause: string;
  readonly word: string;
  readonly tone: Tone;
}

// From the bottom of a column to its top.
const CAUSES: readonly Cause[] = [
  { cause: 'admitted', word: 'admitted', tone: 'good' },
  { cause: 'rotated', word: 'got a silent session’s place', tone: 'busy' },
  { cause: 'capacity_busy', word: 'no place free', tone: 'waiting' },
  { cause: 'redis_unavailable', word: 'Redis did not answer', tone: 'bad' },
  { cause: 'policy_blocked', word: 'refused before the gate', tone: 'quiet' },
];

/** All causes. A cause that the API adds comes last, without a colour of its own. */
export function causesOf(minutes: readonly Minute[]): readonly Cause[] {
  const known = new Set(CAUSES.map(({ cause }) => cause));
  const names = new Set(minutes.flatMap(({ causes }) => Object.keys(causes)));
  const added = [...names].filter((name) => !known.has(name));
  return [
    ...CAUSES,
    ...added.map((cause) => ({ cause, word: cause.replaceAll('_', ' '), tone: 'quiet' as const })),
  ];
}

export const totalOf = ({ causes }: Minute): number =>
  Object.values(causes).reduce((sum, value) => sum + value, 0);

interface Part extends Cause {
  readonly value: number;
  /** How many decisions lie below this part. */
  readonly from: number;
}

/** The parts of one minute’s column, from its bottom; causes without decisions are left out. */
export function columnOf({ causes }: Minute, order: readonly Cause[]): readonly Part[] {
  const parts: Part[] = [];
  let from = 0;
  for (const cause of order) {
    const value = causes[cause.cause] ?? 0;
    if (value > 0) parts.push({ ...cause, value, from });
    from += value;
  }
  return parts;
}
