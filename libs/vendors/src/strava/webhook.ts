import { createHash } from 'node:crypto';
import { z } from 'zod';
import { parseBody } from '#platform';
import { isSameSecret } from '../same-secret.js';
import { type Aspect, type Webhook } from '../webhook.js';
import { parseJson } from '../call/parse-json.js';
import { stravaSubscriptions, type StravaWebhookConfig } from './webhook-subscriptions.js';
import { Id } from './wire/values.js';

const MAX_SECONDS = 100_000_000_000;

const WireEvent = z.object({
  aspect_type: z.enum(['create', 'update', 'delete']),
  event_time: z.int().min(0).max(MAX_SECONDS),
  object_id: Id,
  object_type: z.enum(['activity', 'athlete']),
  owner_id: Id,
  subscription_id: Id,
  updates: z
    .record(z.string(), z.unknown())
    .nullish()
    .transform((updates) => updates ?? {}),
});

/** A webhook event of Strava. It is not signed, so a call to Strava has to confirm it before anything is deleted. */
interface StravaEvent {
  readonly aspect: Aspect;
  readonly eventTime: Date;
  readonly objectType: 'activity' | 'athlete';
  readonly objectId: string;
  readonly ownerId: string;
  readonly subscriptionId: string;
  readonly updates: Readonly<Record<string, unknown>>;
}

/** Throws InvalidInput with the names of the invalid fields. */
export function readEvent(raw: string): StravaEvent {
  const data = parseBody(WireEvent, raw, parseJson);
  return {
    aspect: data.aspect_type,
    eventTime: new Date(data.event_time * 1_000),
    objectType: data.object_type,
    objectId: data.object_id,
    ownerId: data.owner_id,
    subscriptionId: data.subscription_id,
    updates: data.updates,
  };
}

/** Strava's events have no id. A repeated event has the same fields, and so the same key. */
export function dedupeKey({ updates, ...event }: StravaEvent): string {
  const fields = [...Object.entries(event).sort(byName), ...Object.entries(updates).sort(byName)];
  return createHash('sha256').update(JSON.stringify(fields)).digest('base64url');
}

const byName = ([a]: [string, unknown], [b]: [string, unknown]) => (a < b ? -1 : 1);

/** Strava does not sign events, so the path is secret, and an event is only a hint: a call confirms it before anything is deleted. */
export const stravaWebhook: Webhook<StravaWebhookConfig> = {
  objects: ['activity', 'athlete'],
  // The slots of Strava's budget for simultaneous calls.
  lanes: 4,
  verify: ({ pathSecret }, { config }) =>
    isSameSecret(pathSecret, config.webhookPathSecret) ? 'genuine' : 'not found',
  read(body) {
    const event = readEvent(body);
    const { ownerId, objectType, objectId, eventTime, subscriptionId } = event;
    const aspect = isDeauthorization(event) ? 'delete' : event.aspect;
    return [
      { ownerId, objectType, objectId, aspect, eventTime, subscriptionId, dedupeKey: dedupeKey(event) },
    ];
  },
  challenge(query, pathSecret, { webhookPathSecret, webhookVerifyToken }) {
    if (!isSameSecret(pathSecret, webhookPathSecret)) return 'not found';
    const { 'hub.mode': mode, 'hub.challenge': challenge, 'hub.verify_token': token } = query;
    const isTheirs = isSameSecret(token, webhookVerifyToken);
    if (!isTheirs || mode !== 'subscribe' || typeof challenge !== 'string') return 'forbidden';
    return { answer: { 'hub.challenge': challenge } };
  },
  subscriptions: stravaSubscriptions,
};

function isDeauthorization({ objectType, updates }: StravaEvent): boolean {
  return objectType === 'athlete' && updates.authorized === 'false';
}
