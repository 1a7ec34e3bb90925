import { createHmac, timingSafeEqual } from 'node:crypto';

// Whoever records an event must not be able to send it again tomorrow.
const REPLAY_WINDOW_MS = 300_000;
// Seconds have ten digits until the year 2286.
const DIGITS_OF_SECONDS = 10;

export interface SignedDelivery {
  readonly body: string;
  /** `x-oura-timestamp`; Oura documents seconds and sends milliseconds. */
  readonly timestamp: string;
  /** `x-oura-signature` */
  readonly signature: string;
}

/** Whether Oura signed these bytes a moment ago. The key is the client's secret. */
export function isSignedByOura(
  { body, timestamp, signature }: SignedDelivery,
  clientSecret: string,
  nowMs: number,
): boolean {
  if (!/^\d{10,13}$/.test(timestamp)) return false;
  const sentAtMs = Number(timestamp) * (timestamp.length === DIGITS_OF_SECONDS ? 1_000 : 1);
  if (Math.abs(nowMs - sentAtMs) > REPLAY_WINDOW_MS) return false;
  if (!/^[0-9a-f]{64}$/i.test(signature)) return false;
  const expected = createHmac('sha256', clientSecret).update(timestamp).update(body).digest();
  return timingSafeEqual(Buffer.from(signature, 'hex'), expected);
}
