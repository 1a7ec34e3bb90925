import { createHmac, timingSafeEqual } from 'node:crypto';

// Whoever records an event must not be able to send it again tomorrow.
const REPLAY_WINDOW_MS = 300_000;
const DIGEST_BYTES = 32;

export interface SignedDelivery {
  readonly body: string;
  /** `X-WHOOP-Signature-Timestamp`, in milliseconds. */
  readonly timestamp: string;
  /** `X-WHOOP-Signature` */
  readonly signature: string;
}

/** Whether WHOOP signed these bytes a moment ago. The key is the client's secret. */
export function isSignedByWhoop(
  { body, timestamp, signature }: SignedDelivery,
  clientSecret: string,
  nowMs: number,
): boolean {
  if (!/^\d{13}$/.test(timestamp) || Math.abs(nowMs - Number(timestamp)) > REPLAY_WINDOW_MS) return false;
  const given = Buffer.from(signature, 'base64');
  if (given.length !== DIGEST_BYTES) return false;
  const expected = createHmac('sha256', clientSecret).update(timestamp).update(body).digest();
  return timingSafeEqual(given, expected);
}
