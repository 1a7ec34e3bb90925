import { type Core, type Delivery, type Part } from '../core/index.js';
import { type ClientApp } from '../wearables/client-app.js';
import { type Habits } from '../wearables/habits.js';
import { CANCELS_SUBSCRIPTION, DELIVERY_TIMEOUT_MS } from './oura-facts.js';
import { type OuraHabits } from './oura-habits.js';
import { type Change } from './oura-journal.js';
import { signOuraEvent } from './sign-event.js';
import { type Subscriptions } from './subscriptions.js';

interface SavedEvents {
  readonly fallbackUrl: string | null;
}

export class OuraEvents implements Part<SavedEvents> {
  /** Where events without a subscription go, when somebody asked for that. */
  fallbackUrl: string | undefined;

  constructor(
    private readonly core: Core,
    private readonly client: ClientApp,
    private readonly subscriptions: Subscriptions,
    private readonly habits: Habits<typeof OuraHabits>,
  ) {
    core.outbox.employ('oura', {
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

/** As Python's `isoformat` writes a moment in UTC: an offset instead of Z, microseconds unless they are nought. */
export function pythonIso(atMs: number): string {
  const [date, fraction] = new Date(atMs).toISOString().slice(0, -1).split('.') as [string, string];
  return fraction === '000' ? `${date}+00:00` : `${date}.${fraction}000+00:00`;
}
