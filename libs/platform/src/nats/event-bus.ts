import { types } from 'node:util';
import { jetstream, type JetStreamClient, type PubAck } from '@nats-io/jetstream';
import { headers, type NatsConnection } from '@nats-io/transport-node';
import { context, propagation } from '@opentelemetry/api';
import { Counter } from 'prom-client';
import { DependencyUnavailable } from '../errors/app-error.js';
import { type Link, watchLink } from './connect.js';
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

// What waits for its acknowledgement is kept in memory; beyond this a frozen server would cost us ours.
const MOST_BYTES_IN_FLIGHT = 32 * 1024 * 1024;
// The server is not there, or does not answer. Anything else it says is about the event and will be said again.
const AWAY = new Set([
  'ClosedConnectionError',
  'ConnectionError',
  'DrainingConnectionError',
  'JetStreamNotEnabled',
  'NoRespondersError',
  'RequestError',
  'TimeoutError',
]);

export class EventBus {
  private readonly js: JetStreamClient;
  private bytesInFlight = 0;

  constructor(
    connection: NatsConnection,
    private readonly link: Link = watchLink(connection),
  ) {
    this.js = jetstream(connection, { timeout: PUBLISH_TIMEOUT_MS });
  }

  /**
   * Resolves once the stream has stored the event, or already had one of that id. A rejection does not mean that it is
   * not stored: a server that froze may do so when it wakes. Publishing it again under the same id is always right.
   * The current trace travels in its headers.
   */
  async publish<T>(subject: Subject<T>, payload: T, messageId: string): Promise<PubAck> {
    const text = this.encoded(subject, payload);
    if (!this.link.isUp() || this.bytesInFlight + text.length > MOST_BYTES_IN_FLIGHT) {
      published.inc({ topic: subject.name, status: 'failure' });
      throw new DependencyUnavailable('nats');
    }
    this.bytesInFlight += text.length;
    try {
      const ack = await this.js.publish(subject.name, text, { msgID: messageId, headers: traceHeaders() });
      published.inc({ topic: subject.name, status: 'success' });
      return ack;
    } catch (cause) {
      published.inc({ topic: subject.name, status: 'failure' });
      if (types.isNativeError(cause) && AWAY.has(cause.name))
        throw new DependencyUnavailable('nats', { cause });
      throw cause;
    } finally {
      this.bytesInFlight -= text.length;
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
