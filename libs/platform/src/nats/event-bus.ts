import { jetstream, type JetStreamClient, type PubAck } from '@nats-io/jetstream';
import { headers, type NatsConnection } from '@nats-io/transport-node';
import { context, propagation } from '@opentelemetry/api';
import { Counter } from 'prom-client';
import { DependencyUnavailable } from '../errors/app-error.js';
import { encode, MessageMalformed, type Subject } from './subject.js';

const PUBLISH_TIMEOUT_MS = 2_000;

const published = new Counter({
  name: 'event_bus_events_published_total',
  help: 'Events published, by subject and whether the stream confirmed them',
  labelNames: ['topic', 'status'],
});
const validated = new Counter({
  name: 'event_bus_schema_validation_total',
  help: 'Events checked against the shape of their subject before they are published',
  labelNames: ['topic', 'status'],
});

export class EventBus {
  private readonly js: JetStreamClient;

  constructor(connection: NatsConnection) {
    this.js = jetstream(connection, { timeout: PUBLISH_TIMEOUT_MS });
  }

  /**
   * Resolves once the stream has stored the event (or already had one of that id); anything else rejects and the event
   * is not stored by us later. The current trace travels in its headers.
   */
  async publish<T>(subject: Subject<T>, payload: T, messageId: string): Promise<PubAck> {
    const text = this.encoded(subject, payload);
    try {
      const ack = await this.js.publish(subject.name, text, { msgID: messageId, headers: traceHeaders() });
      published.inc({ topic: subject.name, status: 'success' });
      return ack;
    } catch (cause) {
      published.inc({ topic: subject.name, status: 'failure' });
      throw new DependencyUnavailable('nats', { cause });
    }
  }

  private encoded<T>(subject: Subject<T>, payload: T): string {
    try {
      const text = encode(subject, payload);
      validated.inc({ topic: subject.name, status: 'success' });
      return text;
    } catch (error) {
      if (error instanceof MessageMalformed) validated.inc({ topic: subject.name, status: 'failure' });
      throw error;
    }
  }
}

function traceHeaders() {
  const carried = headers();
  // Header names are case sensitive in NATS: both sides use the lower case of the W3C specification.
  propagation.inject(context.active(), carried, {
    set: (to, key, value) => to.set(key.toLowerCase(), value),
  });
  return carried;
}
