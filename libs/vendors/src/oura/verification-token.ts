import { createHmac } from 'node:crypto';

/** The token that Oura sends back when it verifies a subscription. It cannot be guessed without the client's secret. */
export function verificationTokenOf(clientSecret: string): string {
  return createHmac('sha256', clientSecret).update('webhook verification').digest('hex');
}
