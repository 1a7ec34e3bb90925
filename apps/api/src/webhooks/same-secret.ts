import { createHash, timingSafeEqual } from 'node:crypto';

/** Whether a secret was given, in a time that does not tell how nearly. One that is not configured is never given. */
export function isSameSecret(given: unknown, secret: string | undefined): boolean {
  if (typeof given !== 'string' || !secret) return false;
  return timingSafeEqual(digest(given), digest(secret));
}

const digest = (text: string) => createHash('sha256').update(text).digest();
