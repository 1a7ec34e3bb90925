import { createHash } from 'node:crypto';
import { type Night } from '../athletes/index.js';

const SPREAD = 12;

/** A part of a score, 1 to 100: near the night's own, by an amount that the seed and the part's name fix. */
export function contributor(night: Night, name: string): number | null {
  if (night.score === null) return null;
  const wobble = createHash('sha256').update(`${night.seed}/${name}`).digest()[0]! / 255;
  return Math.max(1, Math.min(100, Math.round(night.score + SPREAD * (2 * wobble - 1))));
}
