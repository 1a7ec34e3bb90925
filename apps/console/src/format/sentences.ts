import { moment } from './time.js';

interface Progress {
  readonly resumesAt?: string | null;
  readonly doneBy?: string | null;
  readonly isPaused?: boolean;
}

/** `resumes at 14:15, done by Thursday 09:30`. Empty if nothing is known. */
export function progressSentence(progress: Progress, now: Date, timeZone?: string): string {
  if (progress.isPaused) return 'paused by an operator';
  const at = (time: string) => moment(new Date(time), now, timeZone);
  const isAhead = (time: string | null | undefined): time is string => !!time && new Date(time) > now;
  return [
    isAhead(progress.resumesAt) && `resumes at ${at(progress.resumesAt)}`,
    isAhead(progress.doneBy) && `done by ${at(progress.doneBy)}`,
  ]
    .filter(Boolean)
    .join(', ');
}
