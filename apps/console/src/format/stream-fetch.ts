import { moment } from './time.js';

export type FetchStatus = 'pending' | 'fetching' | 'success' | 'failed' | 'deferred' | 'unavailable';

interface FetchFacts {
  readonly status: FetchStatus;
  /** The athlete typed the activity in. */
  readonly isManual: boolean;
  readonly nextAttemptAt?: string | null;
  /** Known to operators only. */
  readonly attemptsLeft?: number;
}

/** Where a fetch of streams stands, and when it goes on, as docs/stream-lifecycle.md describes it. */
export function fetchSentence(facts: FetchFacts, now: Date, timeZone?: string): string {
  const { status, isManual, attemptsLeft } = facts;
  if (status === 'success') return 'The streams are stored.';
  if (status === 'fetching') return 'A worker is fetching the streams now.';
  if (status === 'pending')
    return 'The fetch waits for its turn. Newer activities come first, and each call waits for the vendor’s limits.';
  if (status === 'unavailable')
    return isManual
      ? 'The athlete typed this activity in, so it has no streams.'
      : 'The vendor has no streams of this activity.';
  if (status === 'deferred')
    return `The fetch was put off, which uses up no attempt. It resumes ${whenNext(facts, now, timeZone)}.`;
  if (attemptsLeft === 0 || !facts.nextAttemptAt)
    return 'The last attempt failed, and none is left. An operator’s reset starts again.';
  return `The last attempt failed. The next may begin ${whenNext(facts, now, timeZone)}.`;
}

function whenNext({ nextAttemptAt }: FetchFacts, now: Date, timeZone: string | undefined): string {
  if (!nextAttemptAt || new Date(nextAttemptAt) <= now) return 'when it is its turn';
  return `at ${moment(new Date(nextAttemptAt), now, timeZone)}`;
}
