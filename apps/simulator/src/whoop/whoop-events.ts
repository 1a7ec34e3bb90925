import { randomUUID } from 'node:crypto';
import { type Core, type Part } from '../core/index.js';
import { type ClientApp } from '../wearables/client-app.js';
import { signWhoopEvent } from './sign-event.js';
import { DELIVERY_TIMEOUT_MS, RETRY_DELAYS_SECONDS } from './whoop-facts.js';

export type EventType = 'sleep.updated' | 'sleep.deleted' | 'recovery.updated' | 'recovery.deleted';

/** There is no subscription API and no challenge: one URL, typed into the dashboard, hears of everything. */
export class WhoopEvents implements Part<string | null> {
  url: string | undefined;

  constructor(
    private readonly core: Core,
    private readonly client: ClientApp,
  ) {}

  save(): string | null {
    return this.url ?? null;
  }

  restore(url: string | null): void {
    this.url = url ?? undefined;
  }

  /** `sleepId` also for `recovery.*`, which have no id of their own. A retry keeps the trace id and is signed anew. */
  publish(athleteId: string, sleepId: string, type: EventType): void {
    if (this.url === undefined) return;
    const event = { user_id: Number(athleteId), id: sleepId, type, trace_id: randomUUID() };
    this.core.outbox.send({
      vendor: 'whoop',
      url: this.url,
      body: Buffer.from(JSON.stringify(event)),
      headersFor: (_attempt, body) => this.signedHeaders(body),
      ackTimeoutMs: DELIVERY_TIMEOUT_MS,
      retryDelaysMs: RETRY_DELAYS_SECONDS.map((seconds) => seconds * 1000),
      isAck: (status) => status >= 200 && status < 300,
    });
  }

  private signedHeaders(body: Buffer): Record<string, string> {
    const timestampMs = String(Math.floor(this.core.clock.nowMs()));
    return {
      'x-whoop-signature': signWhoopEvent(this.client.secret, timestampMs, body.toString()),
      'x-whoop-signature-timestamp': timestampMs,
    };
  }
}
