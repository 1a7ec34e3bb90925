import { createHash, createHmac, timingSafeEqual } from 'node:crypto';
import { z } from 'zod';
import { parseBody } from '#platform';
import { isSameSecret } from '../same-secret.js';
import { headerOf, type ObjectType, type Webhook } from '../webhook.js';
import { verificationTokenOf } from './verification-token.js';
import { ouraSubscriptions } from './webhook-subscriptions.js';

// Seconds have ten digits until the year 2286.
const DIGITS_OF_SECONDS = 10;

interface SignedDelivery {
  readonly body: string;
  /** `x-oura-timestamp`. Oura documents seconds and sends milliseconds. */
  readonly timestamp: string;
  /** `x-oura-signature` */
  readonly signature: string;
}

/** The time at which Oura signed timestamp and body with the client's secret. Undefined if the signature is not Oura's. */
export function signedByOuraAtMs(
  { body, timestamp, signature }: SignedDelivery,
  clientSecret: string,
): number | undefined {
  if (!/^\d{10,13}$/.test(timestamp) || !/^[0-9a-f]{64}$/i.test(signature)) return undefined;
  const expected = createHmac('sha256', clientSecret).update(timestamp).update(body).digest();
  if (!timingSafeEqual(Buffer.from(signature, 'hex'), expected)) return undefined;
  return Number(timestamp) * (timestamp.length === DIGITS_OF_SECONDS ? 1_000 : 1);
}

const WireEvent = z.object({
  event_type: z.enum(['create', 'update', 'delete']),
  data_type: z.string().min(1),
  object_id: z.string().min(1),
  event_time: z.iso.datetime({ offset: true }),
  user_id: z.string().min(1),
});

/** A webhook event of Oura. It names the changed document, whose content has to be fetched. */
interface OuraEvent {
  readonly type: 'create' | 'update' | 'delete';
  readonly dataType: string;
  readonly objectId: string;
  readonly eventTime: Date;
  readonly userId: string;
  /** A hash of the fields, since Oura's events have no id. A repeated event has the same key. */
  readonly dedupeKey: string;
}

/** Throws InvalidInput with the names of the invalid fields. */
export function readOuraEvent(raw: string): OuraEvent {
  const wire = parseBody(WireEvent, raw);
  const { event_type: type, data_type: dataType, object_id: objectId, user_id: userId } = wire;
  const eventTime = new Date(wire.event_time);
  const fields = JSON.stringify([userId, dataType, objectId, type, eventTime]);
  const dedupeKey = createHash('sha256').update(fields).digest('base64url');
  return { type, dataType, objectId, eventTime, userId, dedupeKey };
}

// The objects that our subscriptions are about. Events about other objects are dropped.
const OBJECTS: ReadonlyMap<string, ObjectType> = new Map([
  ['sleep', 'sleep'],
  ['daily_sleep', 'sleep_score'],
]);

export const ouraWebhook: Webhook = {
  objects: [...OBJECTS.values()],
  lanes: 8,
  verify({ body, headers, pathSecret }, { config: { client } }) {
    if (pathSecret !== undefined) return 'not found';
    const timestamp = headerOf(headers, 'x-oura-timestamp');
    const signature = headerOf(headers, 'x-oura-signature');
    const signedAtMs = client && signedByOuraAtMs({ body, timestamp, signature }, client.secret);
    return signedAtMs === undefined ? 'unauthenticated' : { signedAtMs };
  },
  read(body) {
    const { type, dataType, objectId, userId, eventTime, dedupeKey } = readOuraEvent(body);
    const objectType = OBJECTS.get(dataType);
    return objectType ? [{ ownerId: userId, objectType, objectId, aspect: type, eventTime, dedupeKey }] : [];
  },
  challenge({ verification_token: token, challenge }, pathSecret, { client }) {
    if (pathSecret !== undefined) return 'not found';
    const isTheirs = client && isSameSecret(token, verificationTokenOf(client.secret));
    return isTheirs && typeof challenge === 'string' ? { answer: { challenge } } : 'unauthenticated';
  },
  subscriptions: ouraSubscriptions,
};
