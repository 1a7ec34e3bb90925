import { createHash } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { CAUSE_ANSWERS, type Cause, CAUSES } from '#reliability';

export interface Clip {
  readonly bytes: Buffer;
  readonly etag: string;
}

/** What is played instead of a video, for each cause that is answered so. Together they weigh 110 kB, and are kept in memory. */
export const CLIPS: ReadonlyMap<string, Clip> = new Map(
  CAUSES.filter((cause) => CAUSE_ANSWERS[cause].kind === 'clip').map((cause) => [cause, read(cause)]),
);

export function clipName(cause: Cause): string {
  return `${cause}.mp4`;
}

function read(cause: Cause): Clip {
  const bytes = readFileSync(new URL(clipName(cause), import.meta.url));
  // Of the bytes, so that all replicas have the same.
  return { bytes, etag: `"${createHash('sha256').update(bytes).digest('base64url').slice(0, 22)}"` };
}
