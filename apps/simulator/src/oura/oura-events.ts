import { type Core, type Part } from '../core/index.js';
import { type ClientApp } from '../wearables/client-app.js';
import { CANCELS_SUBSCRIPTION, DELIVERY_TIMEOUT_MS, RETRY_DELAYS_SECONDS } from './oura-facts.js';
import { type Change } from './oura-journal.js';
import { signOuraEvent } from './sign-event.js';
import { type Subscription, type Subscriptions } from './subscriptions.js';

/** Choices where Oura's documents and real deliveries disagree or are silent. */
export interface DeliveryHabits {
  /** Real deliveries carry 13 digits, the vendor's sample 10. */
  timestampUnit: 'ms' | 's';
  /** `first`: a retry repeats the first attempt's timestamp and signature, so it looks stale to a replay check. */
  retryTimestamp: 'fresh' | 'first';
}

interface SavedEvents {
  readonly habits: DeliveryHabits;
  readonly fallbackUrl: string | null;
}

export class OuraEvents implements Part<SavedEvents> {
  readonly habits: DeliveryHabits = { timestampUnit: 'ms', retryTimestamp: 'fresh' };
  /** Where events without a subscription go, when somebody asked for that. */
  fallbackUrl: string | undefined;

  constructor(
    private readonly core: Core,
    private readonly client: ClientApp,
    private readonly subscriptions: Subscriptions,
  ) {}

  save(): SavedEvents {
    return { habits: { ...this.habits }, fallbackUrl: this.fallbackUrl ?? null };
  }

  restore({ habits, fallbackUrl }: SavedEvents): void {
    Object.assign(this.habits, habits);
    this.fallbackUrl = fallbackUrl ?? undefined;
  }

  publish(change: Change): void {
    const subscription = this.subscriptions.forPair(change.eventType, change.dataType);
    const url = subscription?.callbackUrl ?? this.fallbackUrl;
    if (url === undefined) return;

    const firstSentAtMs = this.core.clock.nowMs();
    this.core.outbox.send({
      vendor: 'oura',
      url,
      body: Buffer.from(JSON.stringify(eventBody(change, firstSentAtMs))),
      headersFor: (_attempt, body) => this.signedHeaders(body, firstSentAtMs),
      ackTimeoutMs: DELIVERY_TIMEOUT_MS,
      retryDelaysMs: RETRY_DELAYS_SECONDS.map((seconds) => seconds * 1000),
      isAck: (status) => status >= 200 && status < 300,
      onOutcome: (status) => (status === CANCELS_SUBSCRIPTION ? this.cancel(subscription) : undefined),
    });
  }

  private signedHeaders(body: Buffer, firstSentAtMs: number): Record<string, string> {
    const atMs = this.habits.retryTimestamp === 'first' ? firstSentAtMs : this.core.clock.nowMs();
    const timestamp = String(Math.floor(this.habits.timestampUnit === 'ms' ? atMs : atMs / 1000));
    return {
      'x-oura-timestamp': timestamp,
      'x-oura-signature': signOuraEvent(this.client.secret, timestamp, body.toString()),
    };
  }

  private cancel(subscription: Subscription | undefined): 'stop' {
    if (subscription) this.subscriptions.remove(subscription.id);
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
