import { createHmac } from 'node:crypto';

/** What Oura repeats when it asks whether a subscription is wanted: only who has the client's secret can know it. */
export function verificationTokenOf(clientSecret: string): string {
  return createHmac('sha256', clientSecret).update('webhook verification').digest('hex');
}
