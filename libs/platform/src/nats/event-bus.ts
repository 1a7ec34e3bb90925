import { jetstream, type JetStreamClient, type PubAck } from '@nats-io/jetstream';
import { headers, type NatsConnection } from '@nats-io/transport-node';
import { context, propagation } from '@opentelemetry/api';
import { Counter } from 'prom-client';
import { DependencyUnavailable } from '../errors/app-error.js';
import { AcknowledgedPublish } from './acknowledged-publish.js';
import { type Link, watchLink } from './connect.js';
import { natsFailure } from './nats-failure.js';
import { decode, encode, type Subject } from './subject.js';

// Whoever waits for the answer hears within two seconds.
const PUBLISH_TIMEOUT_MS = 1_500;

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
export class EventBus {
  private readonly js: JetStreamClient;
  private readonly acknowledged: AcknowledgedPublish;
  private readonly inOneWrite = new Turn();
  private bytesInFlight = 0;

  constructor(
    connection: NatsConnection,
    private readonly link: Link = watchLink(connection),
  ) {
    this.js = jetstream(connection, { timeout: PUBLISH_TIMEOUT_MS });
    this.acknowledged = new AcknowledgedPublish(connection, PUBLISH_TIMEOUT_MS);
  }

  /**
   * Resolves once the stream has stored the event, or already had one of that id. A rejection does not mean that it is
   * not stored: a server that froze may do so when it wakes. Publishing it again under the same id is always right.
   * The current trace travels in its headers; without one, what `carried` says.
   */
  async publish<T>(
    subject: Subject<T>,
    payload: T,
    messageId: string,
    carried: Readonly<Record<string, string>> = NOTHING,
  ): Promise<PubAck> {
    const text = encoded(subject, payload);
    await this.inOneWrite.wait();
    // Asked last: what is published on a link that is down would be sent when it is up again.
    if (!this.link.isUp() || this.bytesInFlight + text.length > MOST_BYTES_IN_FLIGHT) {
      published.inc({ topic: topicOf(subject), status: 'error' });
      throw new DependencyUnavailable('nats');
    }
    this.bytesInFlight += text.length;
    try {
      const ack = await this.acknowledged.send(subject.name, text, headersOf(messageId, carried));
      published.inc({ topic: topicOf(subject), status: 'success' });
      return ack;
    } catch (cause) {
      published.inc({ topic: topicOf(subject), status: 'error' });
      throw natsFailure(cause);
    } finally {
      this.bytesInFlight -= text.length;
    }
  }

  /** What the stream keeps there; undefined once it is gone. */
  async stored<T>(
    subject: Subject<T>,
    { stream, seq }: Pick<PubAck, 'stream' | 'seq'>,
  ): Promise<T | undefined> {
    try {
      const manager = await this.js.jetstreamManager(false);
      const message = await manager.streams.getMessage(stream, { seq });
      return message ? decode(subject, message.string()) : undefined;
    } catch (error) {
      throw natsFailure(error);
    }
  }
}

/**
 * Until all that is ready in this turn of the event loop has had its say. The client writes to its socket after every
 * publish that comes by itself, and under load the write costs more than all the rest of it.
 */
class Turn {
  private waiting: Array<() => void> = [];

  wait(): Promise<void> {
    if (this.waiting.length === 0) setImmediate(() => this.end());
    return new Promise((resolve) => this.waiting.push(resolve));
  }

  private end(): void {
    const all = this.waiting;
    this.waiting = [];
    for (const go of all) go();
  }
}

const NOTHING = Object.freeze({});
const topicOf = <T>(subject: Subject<T>) => subject.topic ?? subject.name;

function encoded<T>(subject: Subject<T>, payload: T): string {
  validated.inc({ topic: topicOf(subject), status: 'attempted' });
  const text = encode(subject, payload);
  validated.inc({ topic: topicOf(subject), status: 'success' });
  return text;
}

function headersOf(messageId: string, carried: Readonly<Record<string, string>>) {
  const all = headers();
  all.set('Nats-Msg-Id', messageId);
  for (const name in carried) all.set(name, carried[name] ?? '');
  // Header names are case sensitive in NATS: both sides use the lower case of the W3C specification.
  propagation.inject(context.active(), all, {
    set: (to, key, value) => to.set(key.toLowerCase(), value),
  });
  return all;
}
