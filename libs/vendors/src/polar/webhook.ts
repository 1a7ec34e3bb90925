import { createHash, createHmac, timingSafeEqual } from 'node:crypto';
import { z } from 'zod';
import { parseBody } from '#platform';
import { headerOf, type Webhook, type WebhookEvent } from '../webhook.js';
import { polarSubscriptions } from './webhook-subscriptions.js';
import { ExerciseId } from './wire/values.js';

/**
 * True if Polar signed this body with the key of our webhook. The signature covers no time, so a captured delivery stays valid; `dedupeKey`
 * makes a repetition harmless.
 */
export function isSignedByPolar(body: string, signature: string, key: string): boolean {
  if (!/^[0-9a-f]{64}$/i.test(signature)) return false;
  const expected = createHmac('sha256', key).update(body).digest();
  return timingSafeEqual(Buffer.from(signature, 'hex'), expected);
}

const WireEvent = z.object({
  event: z.string().min(1),
  user_id: z.union([z.int(), z.string().min(1)]).transform(String),
  timestamp: z.iso.datetime({ offset: true }).optional(),
});
const Exercise = z.object({ entity_id: ExerciseId });
const Night = z.object({ date: z.iso.date() });

const PING = 'PING';

/**
 * Polar's one webhook for all athletes. An event names a record, which is fetched from our configured address; the event's own `url` is never
 * called. Edits, deletions and revocations send no event: the reconciliation finds them.
 */
export const polarWebhook: Webhook = {
  objects: ['activity', 'sleep'],
  lanes: 4,
  signsPerSubscription: true,
  verify({ body, headers, pathSecret }, { subscriptionSecrets }) {
    if (pathSecret !== undefined) return 'not found';
    // Polar sends it while we create the webhook, and so before we know the key.
    if (headerOf(headers, 'polar-webhook-event') === PING) return 'ping';
    const signature = headerOf(headers, 'polar-webhook-signature');
    const isGenuine = subscriptionSecrets.some((key) => isSignedByPolar(body, signature, key));
    return isGenuine ? 'genuine' : 'unauthenticated';
  },
  read(body) {
    const { event, user_id: ownerId, timestamp } = parseBody(WireEvent, body);
    const about = objectOf(event, body);
    if (!about) return [];
    const eventTime = timestamp === undefined ? undefined : new Date(timestamp);
    // The key has the time, because a corrected night sends the same event again. A retry may have a new time, too; it then costs one more
    // call.
    const fields = JSON.stringify([event, ownerId, about.objectId, eventTime]);
    const dedupeKey = createHash('sha256').update(fields).digest('base64url');
    return [{ ownerId, ...about, eventTime, dedupeKey }];
  },
  subscriptions: polarSubscriptions,
};

/** Undefined for data that we do not read. */
function objectOf(
  event: string,
  body: string,
): Pick<WebhookEvent, 'objectType' | 'objectId' | 'aspect'> | undefined {
  switch (event) {
    case 'EXERCISE':
      return { objectType: 'activity', objectId: parseBody(Exercise, body).entity_id, aspect: 'create' };
    case 'SLEEP':
      return { objectType: 'sleep', objectId: parseBody(Night, body).date, aspect: 'update' };
    default:
      return undefined;
  }
}
