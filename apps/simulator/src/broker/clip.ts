import { createHash } from 'node:crypto';
import { readFileSync } from 'node:fs';

/** The broker's only clip in two qualities, best first. media/README.md has the commands that made the files. */
export const CLIPS = [
  { name: '360p', description: 'H.264 640x360', file: 'guided-workout-360p.mp4' },
  { name: '180p', description: 'H.264 320x180, for slow links', file: 'guided-workout-180p.mp4' },
] as const;

export interface Clip {
  readonly bytes: Buffer;
  readonly etag: string;
}

const loaded = new Map<string, Clip>();

/** Reads a clip on first use and keeps the bytes in memory. The two files together take 120 kB. */
export function loadClip(file: string): Clip | undefined {
  if (!CLIPS.some((clip) => clip.file === file)) return undefined;
  const known = loaded.get(file);
  if (known) return known;

  const bytes = readFileSync(new URL(`./media/${file}`, import.meta.url));
  const clip = { bytes, etag: `"${createHash('sha256').update(bytes).digest('hex').slice(0, 16)}"` };
  loaded.set(file, clip);
  return clip;
}
