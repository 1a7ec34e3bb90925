import { createHmac } from 'node:crypto';
import {
  type Core,
  type Delivery,
  postBytes,
  randomToken,
  type StatePart,
  withDeadline,
} from '../core/index.js';
import { type Habits } from '../wearables/habits.js';
import { DEACTIVATED_AFTER_SECONDS, type PolarHabits, type WebhookEvent } from './polar-facts.js';

interface WebhookState {
  readonly id: string;
  readonly events: readonly WebhookEvent[];
  readonly url: string;
  readonly key: string;
  readonly isActive: boolean;
  /** The first failed delivery since the last success; null while deliveries succeed. */
  readonly failingSinceMs: number | null;
}

interface SavedWebhook {
  readonly state: WebhookState | null;
  readonly missed: readonly string[];
}

type EventBody = { readonly event: WebhookEvent } & Readonly<Record<string, unknown>>;

const MOST_MISSED = 1_000;

/**
 * The one webhook of the application. Polar documents neither retries nor what becomes of events while the webhook is
 * deactivated, so both follow the habits. Seven days of failures deactivate it.
 */
export class Webhook implements StatePart<SavedWebhook> {
  private state: WebhookState | undefined;
  private missed: string[] = [];

  constructor(
    private readonly core: Core,
    private readonly habits: Habits<typeof PolarHabits>,
  ) {
    core.outbox.register('polar', {
      headersFor: ({ body }) => this.signedHeaders(body),
      bodyFor: ({ body }, attempt) =>
        attempt > 1 && habits.now.retry_timestamp === 'fresh'
          ? this.stamped(JSON.parse(body) as EventBody)
          : body,
      // Polar accepts 200 alone, not 204.
      isAck: (status) => status === 200,
      ackTimeoutMs: () => habits.now.delivery_timeout_ms,
      retryDelaysMs: () => habits.now.retry_delays_seconds.map((seconds) => seconds * 1000),
      onOutcome: (delivery, status) => this.noteOutcome(delivery, status),
    });
  }

  save(): SavedWebhook {
    return { state: this.state ?? null, missed: this.missed };
  }

  restore({ state, missed }: SavedWebhook): void {
    this.state = state ?? undefined;
    this.missed = [...missed];
  }

  get now(): WebhookState | undefined {
    return this.state;
  }

  create(terms: Pick<WebhookState, 'events' | 'url' | 'key'>): WebhookState {
    this.state = { id: randomToken(3), ...terms, isActive: true, failingSinceMs: null };
    return this.state;
  }

  /** The key stays. */
  change(terms: { events?: readonly WebhookEvent[]; url?: string }): void {
    if (this.state) this.state = { ...this.state, ...terms };
  }

  setActive(isActive: boolean): void {
    if (!this.state) return;
    this.state = { ...this.state, isActive, failingSinceMs: null };
    if (isActive) for (const body of this.missed.splice(0)) this.send(body);
  }

  /** The world is new: events of its former athletes are not sent, and earlier failures do not count. */
  forgetDeliveries(): void {
    this.missed = [];
    if (this.state) this.state = { ...this.state, failingSinceMs: null };
  }

  remove(): void {
    this.state = undefined;
    this.missed = [];
  }

  /** Without a webhook for this event nothing is sent. */
  publish(body: EventBody): void {
    if (!this.state?.events.includes(body.event)) return;
    const text = this.stamped(body);
    if (this.state.isActive) return this.send(text);
    if (this.habits.now.missed_events_sent_on_activation && this.missed.length < MOST_MISSED)
      this.missed.push(text);
  }

  /** Posts a PING, which the receiver has to answer with 200. It knows no key yet, so a PING is unsigned by default. */
  async ping(url: string, key: string): Promise<boolean> {
    const body = JSON.stringify({
      timestamp: new Date(this.core.clock.nowMs()).toISOString(),
      event: 'PING',
    });
    const headers = {
      'content-type': 'application/json',
      'polar-webhook-event': 'PING',
      ...(this.habits.now.ping_signed && { 'polar-webhook-signature': signPolarEvent(key, body) }),
    };
    try {
      const status = await withDeadline(this.core.clock, this.habits.now.delivery_timeout_ms, (signal) =>
        postBytes(url, Buffer.from(body), headers, signal),
      );
      return status === 200;
    } catch {
      return false;
    }
  }

  private send(body: string): void {
    const { url, id } = this.state!;
    this.core.outbox.send({ vendor: 'polar', url, body, subscriptionId: id });
  }

  /** `timestamp` is the moment of sending and stands before `url`, as in Polar's examples. */
  private stamped({ timestamp: _timestamp, url, ...body }: EventBody): string {
    return JSON.stringify({ ...body, timestamp: new Date(this.core.clock.nowMs()).toISOString(), url });
  }

  private signedHeaders(body: string): Record<string, string> {
    const { event } = JSON.parse(body) as EventBody;
    return {
      'polar-webhook-event': event,
      'polar-webhook-signature': signPolarEvent(this.state?.key ?? '', body),
    };
  }

  /** An event of a webhook that is deleted or deactivated is not tried again. */
  private noteOutcome({ subscriptionId }: Delivery, status: number | undefined): 'stop' | void {
    const { state } = this;
    if (state?.id !== subscriptionId || !state) return 'stop';
    if (status === 200) {
      this.state = { ...state, failingSinceMs: null };
      return;
    }
    const nowMs = this.core.clock.nowMs();
    const failingSinceMs = state.failingSinceMs ?? nowMs;
    const hasGivenUp = nowMs - failingSinceMs >= this.core.clock.scaledMs(DEACTIVATED_AFTER_SECONDS * 1000);
    this.state = { ...state, failingSinceMs, isActive: state.isActive && !hasGivenUp };
    return this.state.isActive ? undefined : 'stop';
  }
}

/** Lower-case hex. The key is the text of `signature_secret_key`, the data the body alone: a replay stays valid. */
export function signPolarEvent(key: string, body: string): string {
  return createHmac('sha256', key).update(body).digest('hex');
}
