import { createHmac } from 'node:crypto';

/** Millisecond timestamp and raw body meet without a separator; the answer is base64. */
export function signWhoopEvent(clientSecret: string, timestampMs: string, body: string): string {
  return createHmac('sha256', clientSecret)
    .update(timestampMs + body)
    .digest('base64');
}
