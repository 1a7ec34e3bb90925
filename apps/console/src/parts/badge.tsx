export type Tone = 'good' | 'busy' | 'waiting' | 'bad' | 'quiet';

// One colour for one meaning on all pages. A state that is missing here is shown without colour.
const TONES: Readonly<Record<string, Tone>> = {
  active: 'good',
  completed: 'good',
  delivered: 'good',
  done: 'good',
  success: 'good',
  succeeded: 'good',
  admitted: 'good',
  enabled: 'good',
  up: 'good',
  claimed: 'busy',
  fetching: 'busy',
  processing: 'busy',
  running: 'busy',
  started: 'busy',
  deferred: 'waiting',
  pending: 'waiting',
  paused: 'waiting',
  queued: 'waiting',
  rate_limited: 'waiting',
  retry_wait: 'waiting',
  retrying: 'waiting',
  delayed: 'waiting',
  waiting: 'waiting',
  dead_letter: 'bad',
  failed: 'bad',
  failed_permanent: 'bad',
  failing: 'bad',
  needs_reauth: 'bad',
  stuck: 'bad',
  cancelled: 'quiet',
  disabled: 'quiet',
  removed: 'quiet',
  revoked: 'quiet',
  skipped: 'quiet',
  unavailable: 'quiet',
};

export function toneOf(state: string): Tone {
  return TONES[state] ?? 'quiet';
}

interface BadgeProps {
  /** A state as the API names it: `needs_reauth` is shown as "needs reauth". */
  readonly state: string;
  readonly tone?: Tone;
}

/** A state as a word and a colour; never as a colour alone. */
export function Badge({ state, tone = toneOf(state) }: BadgeProps) {
  return <span className={`badge tone-${tone}`}>{state.replaceAll('_', ' ')}</span>;
}
