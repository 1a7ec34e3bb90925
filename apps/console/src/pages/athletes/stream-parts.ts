import { type Schema } from '../../app/api.js';
import { toneOf } from '../../parts/badge.js';
import { type BarPart } from '../../parts/bar.js';

type StatusCounts = Schema<'StatusCounts'>;

const STATES = ['success', 'unavailable', 'failed', 'deferred', 'fetching', 'pending'] as const;

/** Activities by the state of their streams, as parts of a bar. */
export function streamParts(counts: StatusCounts): BarPart[] {
  return STATES.map((state) => ({
    label: state,
    value: counts[state],
    tone: state === 'pending' ? 'rest' : toneOf(state),
  }));
}
