import { type Core, type Delivery } from '../core/index.js';
import { signEvent } from './sign-event.js';
import { WEBHOOK_ACK_TIMEOUT_MS, WEBHOOK_RETRY_DELAYS_MS } from './strava-facts.js';
import { type Subscriptions } from './subscriptions.js';

export interface StravaEvent {
  readonly objectType: 'activity' | 'athlete';
  readonly aspect: 'create' | 'update' | 'delete';
  readonly objectId: string;
  readonly ownerId: string;
  /** Values are strings, also "true" and "false". */
  readonly updates?: Readonly<Record<string, string>>;
}

export class Events {
  constructor(
    private readonly core: Core,
    private readonly subscriptions: Subscriptions,
  ) {
    core.outbox.employ('strava', {
      headersFor: (delivery) => this.signature(delivery),
      isAck: (status) => status === 200,
      ackTimeoutMs: () => WEBHOOK_ACK_TIMEOUT_MS,
      retryDelaysMs: () => WEBHOOK_RETRY_DELAYS_MS,
    });
  }

  /** Goes to the app's one subscription; without one nobody hears of it, then or later. */
  publish(event: StravaEvent): void {
    const subscription = this.subscriptions.current;
    if (!subscription) return;
    const body = eventBody(event, subscription.id, this.core.clock.nowSeconds());
    this.core.outbox.send({ vendor: 'strava', url: subscription.callbackUrl, body });
  }

  /** Only where a signing secret is configured; each attempt has a time of its own. */
  private signature({ body }: Delivery): Record<string, string> {
    const { signingSecret } = this.core.app('strava');
    if (!signingSecret) return {};
    return { 'x-strava-signature': signEvent(signingSecret, this.core.clock.nowSeconds(), body) };
  }
}

/** Ids are bare numbers of any size, which `JSON.stringify` could not write without losing digits. */
export function eventBody(event: StravaEvent, subscriptionId: number, eventTime: number): string {
  const { aspect, objectId, objectType, ownerId, updates = {} } = event;
  return (
    `{"aspect_type":"${aspect}","event_time":${eventTime},"object_id":${objectId},"object_type":"${objectType}",` +
    `"owner_id":${ownerId},"subscription_id":${subscriptionId},"updates":${JSON.stringify(updates)}}`
  );
}
