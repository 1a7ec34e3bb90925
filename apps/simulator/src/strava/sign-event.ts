import { createHmac } from 'node:crypto';

/** `X-Strava-Signature` as Strava's sample shows it: lower hex over time, dot and the very bytes of the body. */
export function signEvent(secret: string, unixSeconds: number, body: string): string {
  const digest = createHmac('sha256', secret).update(`${unixSeconds}.`).update(body).digest('hex');
  return `t=${unixSeconds},v1=${digest}`;
}
