import { createHmac, timingSafeEqual } from 'node:crypto';
import { z } from 'zod';
import { parseBody } from '#platform';
import { type Aspect, headerOf, type Webhook } from '../webhook.js';

const DIGEST_BYTES = 32;

interface SignedDelivery {
  readonly body: string;
  /** `X-WHOOP-Signature-Timestamp`, in milliseconds. */
  readonly timestamp: string;
  /** `X-WHOOP-Signature` */
  readonly signature: string;
}

/** The time at which WHOOP signed these bytes with the client's secret. Undefined if the signature is not WHOOP's. */
export function signedByWhoopAtMs(
  { body, timestamp, signature }: SignedDelivery,
  clientSecret: string,
): number | undefined {
  if (!/^\d{13}$/.test(timestamp)) return undefined;
  const given = Buffer.from(signature, 'base64');
  if (given.length !== DIGEST_BYTES) return undefined;
  const expected = createHmac('sha256', clientSecret).update(timestamp).update(body).digest();
  return timingSafeEqual(given, expected) ? Number(timestamp) : undefined;
}

const WireEvent = z.object({
  user_id: z.union([z.int(), z.string().min(1)]).transform(String),
  id: z.union([z.int(), z.string().min(1)]).transform(String),
  type: z.string().min(1),
  trace_id: z.string().min(1),
});

/**
 * A webhook event of WHOOP. The event names the changed document, and the content of the document has to be fetched. The event has no time.
 */
interface WhoopEvent {
  readonly userId: string;
  /** The id of the workout or sleep. For a recovery, the id of its sleep. */
  readonly id: string;
  /** `sleep.updated`, `sleep.deleted`, … */
  readonly type: string;
  /** A repeated event has the same trace id. */
  readonly traceId: string;
}

/** Throws InvalidInput with the names of the invalid fields. */
export function readWhoopEvent(raw: string): WhoopEvent {
  const wire = parseBody(WireEvent, raw);
  const { user_id: userId, id, type, trace_id: traceId } = wire;
  return { userId, id, type, traceId };
}

// Events about other objects, such as workouts, are dropped.
const ASPECTS: ReadonlyMap<string, Aspect> = new Map([
  ['sleep.updated', 'update'],
  ['sleep.deleted', 'delete'],
]);

/** WHOOP's events have no time, and its subscription is made on its dashboard. */
export const whoopWebhook: Webhook = {
  objects: ['sleep'],
  lanes: 8,
  verify({ body, headers, pathSecret }, { config: { client } }) {
    if (pathSecret !== undefined) return 'not found';
    const timestamp = headerOf(headers, 'x-whoop-signature-timestamp');
    const signature = headerOf(headers, 'x-whoop-signature');
    const signedAtMs = client && signedByWhoopAtMs({ body, timestamp, signature }, client.secret);
    return signedAtMs === undefined ? 'unauthenticated' : { signedAtMs };
  },
  read(body) {
    const { type, id, userId, traceId } = readWhoopEvent(body);
    const aspect = ASPECTS.get(type);
    return aspect ? [{ ownerId: userId, objectType: 'sleep', objectId: id, aspect, dedupeKey: traceId }] : [];
  },
};
