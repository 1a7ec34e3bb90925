import { type VendorConfig } from '#platform';
import { type OutboundAnswer, type OutboundRequest } from '#reliability';
import { type CallOutcome } from './call/call-outcome.js';

/** The objects that events are about. A feature handles each of them; `sleep_score`: the score of a day, and with it that day's sleeps. */
export type ObjectType = 'activity' | 'athlete' | 'sleep' | 'sleep_score';

/** The change of an object. `delete` of an athlete: the athlete has ended our access at the vendor. */
export type Aspect = 'create' | 'update' | 'delete';

/** One event as the inbox keeps it. */
export interface WebhookEvent {
  /** The vendor's id of the athlete. */
  readonly ownerId: string;
  readonly objectType: ObjectType;
  readonly objectId: string;
  readonly aspect: Aspect;
  /** Absent: the vendor sends no time, so the time of arrival counts. */
  readonly eventTime?: Date;
  /** The same if the vendor sends the event again. */
  readonly dedupeKey: string;
  /** The subscription that the event belongs to, if the vendor names it. */
  readonly subscriptionId?: string;
}

/** A POST to `/webhooks/{vendor}` or `/webhooks/{vendor}/{secret}`. */
export interface WebhookDelivery {
  /** The text whose bytes a signature covers. */
  readonly body: string;
  /** By their names in lower case. */
  readonly headers: Readonly<Record<string, string | readonly string[] | undefined>>;
  /** The last part of the path, if it has one. */
  readonly pathSecret?: string;
}

/** Returns a header, or an empty text if it is missing or repeated. */
export function headerOf(headers: WebhookDelivery['headers'], name: string): string {
  const value = headers[name];
  return typeof value === 'string' ? value : '';
}

/** The secrets that a delivery is checked against. */
interface WebhookSecrets<Config extends VendorConfig> {
  readonly config: Config;
  /** The secrets that the vendor issued with our subscriptions. Empty unless `Webhook.signsPerSubscription`. */
  readonly subscriptionSecrets: readonly string[];
}

/** Each is an HTTP status of the api: 404, 401 and 403. */
export type WebhookRefusal = 'not found' | 'unauthenticated' | 'forbidden';

/** `ping`: the vendor only checks that we answer; nothing is read or stored. */
export type WebhookVerdict = 'genuine' | 'ping' | WebhookRefusal;

/** The signature is valid and covers this time. The inbox refuses a delivery whose time is too far from its clock. */
interface SignedAt {
  readonly signedAtMs: number;
}

export type WebhookChallenge = { readonly answer: Readonly<Record<string, string>> } | WebhookRefusal;

/** A vendor's webhook. The inbox (`libs/webhooks`) stores, orders and retries its events. */
export interface Webhook<Config extends VendorConfig = VendorConfig> {
  /** The objects that `read` returns events about. The start fails if a worker lacks a handler for one of them. */
  readonly objects: readonly ObjectType[];
  /** Athletes whose events a worker handles at the same time. */
  readonly lanes: number;
  /** The vendor issues a secret with each subscription; it is stored sealed, and `verify` gets it. */
  readonly signsPerSubscription?: true;
  verify(delivery: WebhookDelivery, secrets: WebhookSecrets<Config>): WebhookVerdict | SignedAt;
  /** Returns no event if the body is about an object that we do not handle. Throws InvalidInput with the names of the invalid fields. */
  read(body: string): readonly WebhookEvent[];
  /** Answers the GET with which the vendor confirms a subscription. Absent: the vendor sends none. */
  challenge?(
    query: Readonly<Record<string, unknown>>,
    pathSecret: string | undefined,
    config: Config,
  ): WebhookChallenge;
  /** Absent: an operator makes the subscriptions on the vendor's page. */
  readonly subscriptions?: WebhookSubscriptions<Config>;
}

/** The subscriptions that a worker keeps at a vendor, one for each topic. */
export interface WebhookSubscriptions<Config extends VendorConfig = VendorConfig> {
  /** The vendor's own names. A vendor with one subscription for all events has one topic. */
  readonly topics: readonly string[];
  readonly checkEveryMs: number;
  /** A subscription is renewed this long before its end. */
  readonly renewBeforeMs?: number;
  /** The path after PUBLIC_URL. Undefined if the configuration lacks a client or a secret. */
  callbackPath(config: Config): string | undefined;
  /** Requests about subscriptions count against the vendor's rate limit. */
  readonly isCharged?: true;
  at(config: Config, call: SubscriptionCall): SubscriptionApi;
}

/** Sends a request about a subscription and reads the answer. `notNow`: no permit was left. */
export type SubscriptionCall = <T>(
  request: OutboundRequest,
  read: (answer: OutboundAnswer) => CallOutcome<T>,
) => Promise<CallOutcome<T>>;

export interface Subscription {
  readonly id: string;
  readonly topic: string;
  readonly callbackUrl: string;
  readonly endsAt?: Date;
}

export interface NewSubscription {
  readonly id: string;
  /** The vendor signs events with it. */
  readonly secret?: string;
}

/** A vendor's endpoints for subscriptions. `gone`: the subscription has ended since it was listed. */
export interface SubscriptionApi {
  list(): Promise<CallOutcome<readonly Subscription[]>>;
  create(topic: string, callbackUrl: string): Promise<CallOutcome<NewSubscription>>;
  remove(subscription: Subscription): Promise<CallOutcome<unknown>>;
  /** Absent: subscriptions do not end by themselves. */
  renew?(subscription: Subscription): Promise<CallOutcome<unknown>>;
  /** Absent: a subscription with another address is removed and created. */
  move?(subscription: Subscription, callbackUrl: string): Promise<CallOutcome<unknown>>;
}
