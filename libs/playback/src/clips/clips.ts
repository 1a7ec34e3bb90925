import { createHash } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { type Cause, CAUSE_ANSWERS, CAUSES } from '#reliability';

interface Clip {
  readonly bytes: Buffer;
  readonly etag: string;
}

/** The clip that is played instead of a video, by cause. All clips are kept in memory, 100 kB together. */
export const CLIPS: ReadonlyMap<string, Clip> = new Map(
  CAUSES.filter((cause) => CAUSE_ANSWERS[cause].kind === 'clip').map((cause) => [cause, read(cause)]),
);

export function clipName(cause: Cause): string {
  return `${cause}.mp4`;
}

function read(cause: Cause): Clip {
  const bytes = readFileSync(new URL(clipName(cause), import.meta.url));
  // The ETag is a hash of the bytes, so it is equal on all replicas.
  return { bytes, etag: `"${createHash('sha256').update(bytes).digest('base64url').slice(0, 22)}"` };
}

/** The bytes that a Range header requests; `last` is included. `none`: the range is beyond the end. */
type ByteRange =
  | { readonly kind: 'whole' }
  | { readonly kind: 'part'; readonly first: number; readonly last: number }
  | { readonly kind: 'none' };

const WHOLE: ByteRange = { kind: 'whole' };

/** Several ranges, or a unit other than bytes, give the whole file, as RFC 9110, 14.2 allows. */
export function byteRange(header: string | undefined, size: number): ByteRange {
  const [, from, to] = /^bytes=(\d{0,15})-(\d{0,15})$/.exec(header?.trim() ?? '') ?? [];
  if (from === undefined || to === undefined || from + to === '') return WHOLE;
  if (from === '') return part(Math.max(size - Number(to), 0), size - 1, size);
  if (to !== '' && Number(to) < Number(from)) return WHOLE;
  return part(Number(from), to === '' ? size - 1 : Math.min(Number(to), size - 1), size);
}

function part(first: number, last: number, size: number): ByteRange {
  return first < size ? { kind: 'part', first, last } : { kind: 'none' };
}
