import { createHmac } from 'node:crypto';
import { type Core, type Delivery } from '../core/index.js';
import { WEBHOOK_ACK_TIMEOUT_MS, WEBHOOK_RETRY_DELAYS_MS } from './strava-facts.js';
import { type Subscriptions } from './subscriptions.js';

interface StravaEvent {
  readonly objectType: 'activity' | 'athlete';
  readonly aspect: 'create' | 'update' | 'delete';
  readonly objectId: string;
  readonly ownerId: string;
  /** All values are strings; booleans are "true" and "false". */
  readonly updates?: Readonly<Record<string, string>>;
}

/** Sends Strava's events to the app's one subscription. Events without a subscription are dropped. */
export class Events {
  constructor(
    private readonly core: Core,
    private readonly subscriptions: Subscriptions,
  ) {
    core.outbox.register('strava', {
      headersFor: (delivery) => this.signature(delivery),
      isAck: (status) => status === 200,
      ackTimeoutMs: () => WEBHOOK_ACK_TIMEOUT_MS,
      retryDelaysMs: () => WEBHOOK_RETRY_DELAYS_MS,
    });
  }

  publish(event: StravaEvent): void {
    const subscription = this.subscriptions.current;
    if (!subscription) return;
    const body = eventBody(event, subscription.id, this.core.clock.nowSeconds());
    this.core.outbox.send({ vendor: 'strava', url: subscription.callbackUrl, body });
  }

  /** The signature header, or no header without a configured signing secret. Each attempt is signed with its own time. */
  private signature({ body }: Delivery): Record<string, string> {
    const { signingSecret } = this.core.app('strava');
    if (!signingSecret) return {};
    return { 'x-strava-signature': signEvent(signingSecret, this.core.clock.nowSeconds(), body) };
  }
}

/** The body of an event. Ids are bare numbers of any size. `JSON.stringify` would round large numbers. */
export function eventBody(event: StravaEvent, subscriptionId: number, eventTime: number): string {
  const { aspect, objectId, objectType, ownerId, updates = {} } = event;
  return (
    `{"aspect_type":"${aspect}","event_time":${eventTime},"object_id":${objectId},"object_type":"${objectType}",` +
    `"owner_id":${ownerId},"subscription_id":${subscriptionId},"updates":${JSON.stringify(updates)}}`
  );
}

/** `X-Strava-Signature` as in Strava's sample: lower-case hex over time, dot and the bytes of the body. */
export function signEvent(secret: string, unixSeconds: number, body: string): string {
  const digest = createHmac('sha256', secret).update(`${unixSeconds}.`).update(body).digest('hex');
  return `t=${unixSeconds},v1=${digest}`;
}
