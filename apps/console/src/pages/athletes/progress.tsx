import { progressSentence } from '../../format/sentences.js';
import { utc } from '../../format/time.js';
import { useNow } from '../../parts/time.js';

interface ProgressProps {
  readonly resumesAt?: string | null;
  readonly doneBy?: string | null;
  readonly isPaused?: boolean;
  /** Stands before the sentence; without a sentence nothing is shown then. */
  readonly lead?: string;
}

/** `resumes at 14:15, done by Thursday 09:30`; a dash if nothing is known. The pointer over it shows UTC. */
export function Progress({ resumesAt, doneBy, isPaused, lead }: ProgressProps) {
  const now = useNow();
  const times = [resumesAt, doneBy].filter((at) => typeof at === 'string').map((at) => utc(new Date(at)));
  const sentence = progressSentence({ resumesAt, doneBy, isPaused }, now);
  if (!sentence && lead !== undefined) return null;
  return (
    <span className="progress" title={times.join(', ')}>
      {lead}
      {sentence || '–'}
    </span>
  );
}
