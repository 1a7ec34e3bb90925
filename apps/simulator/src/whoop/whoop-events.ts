import { createHmac, randomUUID } from 'node:crypto';
import { type Core, type Delivery, type StatePart } from '../core/index.js';
import { type ClientApp } from '../wearables/client-app.js';
import { type Habits } from '../wearables/habits.js';
import { type WhoopHabits } from './whoop-facts.js';

export type EventType = 'sleep.updated' | 'sleep.deleted' | 'recovery.updated' | 'recovery.deleted';

/** WHOOP has no subscription API and no challenge. All events go to one URL, which the app sets in WHOOP's dashboard. */
export class WhoopEvents implements StatePart<string | null> {
  url: string | undefined;

  constructor(
    private readonly core: Core,
    private readonly client: ClientApp,
    private readonly habits: Habits<typeof WhoopHabits>,
  ) {
    core.outbox.register('whoop', {
      headersFor: (delivery) => this.signedHeaders(delivery),
      bodyFor: (delivery, attempt) => this.bodyFor(delivery, attempt),
      isAck: (status) => status >= 200 && status < 300,
      ackTimeoutMs: () => habits.now.delivery_timeout_ms,
      retryDelaysMs: () => habits.now.retry_delays_seconds.map((seconds) => seconds * 1000),
    });
  }

  save(): string | null {
    return this.url ?? null;
  }

  restore(url: string | null): void {
    this.url = url ?? undefined;
  }

  /** A `recovery.*` event carries the id of the sleep, because a recovery has no id. */
  publish(athleteId: string, sleepId: string, type: EventType): void {
    if (this.url === undefined) return;
    const event = { user_id: Number(athleteId), id: sleepId, type, trace_id: randomUUID() };
    this.core.outbox.send({ vendor: 'whoop', url: this.url, body: JSON.stringify(event) });
  }

  private bodyFor({ body }: Delivery, attempt: number): string {
    if (attempt === 1 || this.habits.now.retry_trace_id === 'same') return body;
    return JSON.stringify({ ...(JSON.parse(body) as object), trace_id: randomUUID() });
  }

  private signedHeaders({ body }: Delivery): Record<string, string> {
    const timestampMs = String(Math.floor(this.core.clock.nowMs()));
    return {
      'x-whoop-signature': signWhoopEvent(this.client.secret, timestampMs, body),
      'x-whoop-signature-timestamp': timestampMs,
    };
  }
}

/** Signs the millisecond timestamp and the raw body, without a separator. The signature is base64. */
export function signWhoopEvent(clientSecret: string, timestampMs: string, body: string): string {
  return createHmac('sha256', clientSecret)
    .update(timestampMs + body)
    .digest('base64');
}
