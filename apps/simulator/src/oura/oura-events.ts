import { createHmac } from 'node:crypto';
import { type Core, type Delivery, type StatePart } from '../core/index.js';
import { type ClientApp } from '../wearables/client-app.js';
import { type Habits } from '../wearables/habits.js';
import { CANCELS_SUBSCRIPTION, DELIVERY_TIMEOUT_MS, type OuraHabits } from './oura-facts.js';
import { type Change } from './oura-journal.js';
import { type Subscriptions } from './subscriptions.js';

interface SavedEvents {
  readonly fallbackUrl: string | null;
}

/**
 * Sends an event to the subscription of its event type and data type. Without such a subscription the event goes to
 * `fallbackUrl`. The answer 410 ends the subscription.
 */
export class OuraEvents implements StatePart<SavedEvents> {
  /** URL for events without a subscription, set by `POST /__sim/webhooks`. */
  fallbackUrl: string | undefined;

  constructor(
    private readonly core: Core,
    private readonly client: ClientApp,
    private readonly subscriptions: Subscriptions,
    private readonly habits: Habits<typeof OuraHabits>,
  ) {
    core.outbox.register('oura', {
      headersFor: (delivery) => this.signedHeaders(delivery),
      isAck: (status) => status >= 200 && status < 300,
      ackTimeoutMs: () => DELIVERY_TIMEOUT_MS,
      retryDelaysMs: () => habits.now.retry_delays_seconds.map((seconds) => seconds * 1000),
      onOutcome: (delivery, status) => (status === CANCELS_SUBSCRIPTION ? this.cancel(delivery) : undefined),
    });
  }

  save(): SavedEvents {
    return { fallbackUrl: this.fallbackUrl ?? null };
  }

  restore({ fallbackUrl }: SavedEvents): void {
    this.fallbackUrl = fallbackUrl ?? undefined;
  }

  publish(change: Change): void {
    const subscription = this.subscriptions.forPair(change.eventType, change.dataType);
    const url = subscription?.callbackUrl ?? this.fallbackUrl;
    if (url === undefined) return;
    const body = JSON.stringify(eventBody(change, this.core.clock.nowMs()));
    this.core.outbox.send({ vendor: 'oura', url, body, subscriptionId: subscription?.id });
  }

  private signedHeaders({ body, firstSentAtMs }: Delivery): Record<string, string> {
    const { retry_timestamp, timestamp_unit } = this.habits.now;
    const atMs = retry_timestamp === 'first' ? firstSentAtMs : this.core.clock.nowMs();
    const timestamp = String(Math.floor(timestamp_unit === 'ms' ? atMs : atMs / 1000));
    return {
      'x-oura-timestamp': timestamp,
      'x-oura-signature': signOuraEvent(this.client.secret, timestamp, body),
    };
  }

  private cancel({ subscriptionId }: Delivery): 'stop' {
    if (subscriptionId !== undefined) this.subscriptions.remove(subscriptionId);
    return 'stop';
  }
}

function eventBody({ eventType, dataType, objectId, athleteId }: Change, atMs: number) {
  return {
    event_type: eventType,
    data_type: dataType,
    object_id: objectId,
    event_time: pythonIso(atMs),
    user_id: athleteId,
  };
}

/** UTC as Python's `isoformat` writes it: with an offset instead of Z, and with microseconds only if they are not zero. */
export function pythonIso(atMs: number): string {
  const [date, fraction] = new Date(atMs).toISOString().slice(0, -1).split('.') as [string, string];
  return fraction === '000' ? `${date}+00:00` : `${date}.${fraction}000+00:00`;
}

/** Signs timestamp and body without a separator. The key is the client secret, not the verification token. */
export function signOuraEvent(clientSecret: string, timestamp: string, body: string): string {
  return createHmac('sha256', clientSecret)
    .update(timestamp + body)
    .digest('hex')
    .toUpperCase();
}
