import { createHmac } from 'node:crypto';

/** Timestamp and body meet without a separator; the key is the client secret, never the verification token. */
export function signOuraEvent(clientSecret: string, timestamp: string, body: string): string {
  return createHmac('sha256', clientSecret)
    .update(timestamp + body)
    .digest('hex')
    .toUpperCase();
}
