import { createHash, timingSafeEqual } from 'node:crypto';

/** Compares in constant time. False if no secret is configured. */
export function isSameSecret(given: unknown, secret: string | undefined): boolean {
  if (typeof given !== 'string' || !secret) return false;
  return timingSafeEqual(digest(given), digest(secret));
}

const digest = (text: string) => createHash('sha256').update(text).digest();
