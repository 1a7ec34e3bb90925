// For specs and benches only.
import { createHmac } from 'node:crypto';
import { type Sql } from '#platform';
import {
  type ObjectType,
  type ProductConfig,
  VENDOR_IDS,
  type VendorId,
  type WebhookDelivery,
} from '#vendors';

interface Flood {
  readonly vendor?: VendorId;
  readonly owners: readonly number[];
  /** Events of each owner, each about another object. */
  readonly each: number;
  /** The interval from now until the events are due; negative: they are due already. */
  readonly dueIn?: string;
}

/** Inserts waiting events in two statements, as `WebhookInbox` would have stored them. */
export async function floodOf(
  sql: Sql,
  { vendor = 'strava', owners, each, dueIn = '-1 hour' }: Flood,
): Promise<void> {
  await sql.query(
    `insert into webhook_event
       (vendor, dedupe_key, owner_id, object_type, object_id, aspect, event_time, raw, next_attempt_at)
     select $4, 'flood ' || owner || ' ' || n, owner, $5, owner::bigint * 1000000 + n, 'create', now(),
       '{"updates":{}}', now() + $3::interval
     from unnest($1::int[]) owner, generate_series(1, $2::int) n`,
    [owners, each, dueIn, vendor, senderOf(vendor).objectType],
  );
  await sql.query(
    `insert into webhook_owner (vendor, owner_id, turn_at)
     select $3, owner, now() + $2::interval from unnest($1::int[]) owner
     on conflict do nothing`,
    [owners, dueIn, vendor],
  );
}

export interface SentEvent {
  readonly aspect?: 'create' | 'update' | 'delete';
  readonly object?: number | string;
  readonly owner?: number | string;
  /** The time of the event, in seconds after a fixed moment. WHOOP sends none. */
  readonly second?: number;
  /** The subscription's id at a vendor that names it in its events. */
  readonly subscription?: number;
}

interface Sender {
  /** The object that the sent events are about. */
  readonly objectType: ObjectType;
  /** False: the vendor's events have no time. */
  readonly hasTimes: boolean;
  /** True: the vendor sends no deletions; `aspect` is of no use. */
  readonly hidesDeletions?: true;
  bodyOf(event: Required<SentEvent>): string;
  signed(body: string, secret: string): WebhookDelivery;
}

export const SENDERS_SECRET = 'a-secret-that-nobody-guesses';
const SECOND = 1_794_900_000;
const client = { id: '1', secret: SENDERS_SECRET };
const urls = { apiUrl: 'http://vendor', oauthUrl: 'http://vendor' };

/** The configuration that the deliveries of `SENDERS` are signed for. */
export const SENDERS_CONFIG = {
  vendors: {
    ...Object.fromEntries(VENDOR_IDS.map((vendor) => [vendor, { ...urls, client }])),
    strava: {
      ...urls,
      client,
      webhookPathSecret: SENDERS_SECRET,
      webhookVerifyToken: 'verify',
      writesBack: false,
    },
  },
} as unknown as Pick<ProductConfig, 'vendors'>;

/** Each vendor's way of sending a webhook. */
const SENDERS: Readonly<Partial<Record<VendorId, Sender>>> = {
  strava: {
    objectType: 'activity',
    hasTimes: true,
    // Text, since an id may have more digits than a number.
    bodyOf: ({ aspect, object, owner, second, subscription }) =>
      `{"aspect_type":"${aspect}","event_time":${SECOND + second},"object_id":${object},"object_type":"activity",` +
      `"owner_id":${owner},"subscription_id":${subscription},"updates":{}}`,
    signed: (body, pathSecret) => ({ body, headers: {}, pathSecret }),
  },
  oura: {
    objectType: 'sleep',
    hasTimes: true,
    bodyOf: ({ aspect, object, owner, second }) =>
      JSON.stringify({
        event_type: aspect,
        data_type: 'sleep',
        object_id: String(object),
        event_time: new Date((SECOND + second) * 1_000).toISOString(),
        user_id: String(owner),
      }),
    signed: (body, secret) => {
      const at = String(Date.now());
      const signature = createHmac('sha256', secret).update(at).update(body).digest('hex');
      return { body, headers: { 'x-oura-timestamp': at, 'x-oura-signature': signature } };
    },
  },
  whoop: {
    objectType: 'sleep',
    hasTimes: false,
    bodyOf: ({ aspect, object, owner, second }) =>
      JSON.stringify({
        user_id: String(owner),
        id: String(object),
        type: aspect === 'delete' ? 'sleep.deleted' : 'sleep.updated',
        trace_id: [aspect, object, owner, second].join(' '),
      }),
    signed: (body, secret) => {
      const at = String(Date.now());
      const signature = createHmac('sha256', secret).update(at).update(body).digest('base64');
      return { body, headers: { 'x-whoop-signature-timestamp': at, 'x-whoop-signature': signature } };
    },
  },
  polar: {
    objectType: 'activity',
    hasTimes: true,
    hidesDeletions: true,
    bodyOf: ({ object, owner, second }) =>
      JSON.stringify({
        // A night has a date as its id.
        ...(/^\d{4}-\d\d-\d\d$/.test(String(object))
          ? { event: 'SLEEP', date: object }
          : { event: 'EXERCISE', entity_id: String(object) }),
        user_id: Number(owner),
        timestamp: new Date((SECOND + second) * 1_000).toISOString(),
      }),
    // The secret is the key of the webhook, not that of the client.
    signed: (body, secret) => {
      const signature = createHmac('sha256', secret).update(body).digest('hex');
      return { body, headers: { 'polar-webhook-event': 'EXERCISE', 'polar-webhook-signature': signature } };
    },
  },
};

export function senderOf(vendor: VendorId): Sender {
  const sender = SENDERS[vendor];
  if (!sender)
    throw new Error(
      `${vendor} has a webhook, but events.harness.ts of libs/webhooks does not know how it sends events. Add it to SENDERS.`,
    );
  return sender;
}

/** A delivery of a vendor; genuine with the default secret under `SENDERS_CONFIG`. */
export function deliveryOf(
  vendor: VendorId,
  event: SentEvent = {},
  secret = SENDERS_SECRET,
): WebhookDelivery {
  const sender = senderOf(vendor);
  const whole = { aspect: 'create', object: 1, owner: 10, second: 0, subscription: 1, ...event } as const;
  return sender.signed(sender.bodyOf(whole), secret);
}
