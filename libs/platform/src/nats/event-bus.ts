import { jetstream, type JetStreamClient, type PubAck } from '@nats-io/jetstream';
import { headers, type NatsConnection } from '@nats-io/transport-node';
import { Counter } from 'prom-client';
import { DependencyUnavailable } from '../errors/app-error.js';
import { startAtZero } from '../metrics/start-at-zero.js';
import { traceHeaders } from '../tracing/tracing.js';
import { AcknowledgedPublish } from './acknowledged-publish.js';
import { type Link, natsFailure, watchLink } from './connect.js';
import { decode, encode, MessageMalformed, type Subject } from './subject.js';

// A publish ends within two seconds. This includes the wait for the end of the turn.
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

// Messages wait in memory for their acknowledgement. This limit bounds their memory while a server is frozen.
const MOST_BYTES_IN_FLIGHT = 32 * 1024 * 1024;

interface Message {
  /** The NATS subject. */
  readonly name: string;
  /** The label of the metrics. */
  readonly topic: string;
  readonly text: string;
  readonly messageId: string;
  readonly extraHeaders?: Readonly<Record<string, string>>;
}

/**
 * Checks events against the schema of their subject, publishes them, and reads them back. It does not retry: the caller publishes again
 * with the same id.
 */
export class EventBus {
  private readonly js: JetStreamClient;
  private readonly acknowledged: AcknowledgedPublish;
  private readonly writeTurn = new WriteTurn();
  private bytesInFlight = 0;

  constructor(
    connection: NatsConnection,
    private readonly link: Link = watchLink(connection),
  ) {
    this.js = jetstream(connection, { timeout: PUBLISH_TIMEOUT_MS });
    this.acknowledged = new AcknowledgedPublish(connection, PUBLISH_TIMEOUT_MS);
  }

  /**
   * Resolves once the stream has stored the event, or if the stream already has an event with this id. After a rejection, a frozen server
   * may still store the event. If the caller publishes again with the same id within two hours, the stream does not store a second copy.
   *
   * The headers contain the current trace. Without a current trace, they contain the trace of `extraHeaders`.
   */
  async publish<T>(
    subject: Subject<T>,
    payload: T,
    messageId: string,
    extraHeaders: Readonly<Record<string, string>> = NO_HEADERS,
  ): Promise<PubAck> {
    const text = encoded(subject, payload);
    return this.publishText({ name: subject.name, topic: topicOf(subject), text, messageId, extraHeaders });
  }

  /** Publishes a text as it is. The same holds as for `publish`. */
  async publishText({ name, topic, text, messageId, extraHeaders = NO_HEADERS }: Message): Promise<PubAck> {
    startAtZero(published, [{ topic, status: 'error' }]);
    await this.writeTurn.wait();
    // The link is checked last. While it is down, the client would keep the message and send it once the link is up again.
    if (!this.link.isUp() || this.bytesInFlight + text.length > MOST_BYTES_IN_FLIGHT) {
      published.inc({ topic, status: 'error' });
      throw new DependencyUnavailable('nats');
    }
    this.bytesInFlight += text.length;
    try {
      const ack = await this.acknowledged.send(name, text, headersOf(messageId, extraHeaders));
      published.inc({ topic, status: 'success' });
      return ack;
    } catch (cause) {
      published.inc({ topic, status: 'error' });
      throw natsFailure(cause);
    } finally {
      this.bytesInFlight -= text.length;
    }
  }

  /**
   * Reads the event at a sequence. Returns undefined if the event is deleted or expired. Throws MessageMalformed if the event is on another
   * subject.
   */
  async stored<T>(
    subject: Subject<T>,
    { stream, seq }: Pick<PubAck, 'stream' | 'seq'>,
  ): Promise<T | undefined> {
    try {
      const manager = await this.js.jetstreamManager(false);
      const message = await manager.streams.getMessage(stream, { seq });
      if (!message) return undefined;
      if (message.subject !== subject.name)
        throw new MessageMalformed(subject.name, [`is on ${message.subject}`]);
      return decode(subject, message.string());
    } catch (error) {
      throw natsFailure(error);
    }
  }
}

/**
 * Delays publishes to the end of the present turn of the event loop, so that they share one write to the socket. Under load, a write costs
 * more than all other work for a publish.
 */
class WriteTurn {
  private waiting: Array<() => void> = [];

  wait(): Promise<void> {
    if (this.waiting.length === 0) setImmediate(() => this.end());
    return new Promise((resolve) => this.waiting.push(resolve));
  }

  private end(): void {
    const all = this.waiting;
    this.waiting = [];
    for (const resolve of all) resolve();
  }
}

const NO_HEADERS = Object.freeze({});
const topicOf = <T>(subject: Subject<T>) => subject.topic ?? subject.name;

/** Throws MessageMalformed if the payload does not fit. */
function encoded<T>(subject: Subject<T>, payload: T): string {
  const topic = topicOf(subject);
  startAtZero(validated, [
    { topic, status: 'success' },
    { topic, status: 'failed' },
  ]);
  validated.inc({ topic, status: 'attempted' });
  let status = 'failed';
  try {
    const text = encode(subject, payload);
    status = 'success';
    return text;
  } finally {
    validated.inc({ topic, status });
  }
}

function headersOf(messageId: string, extraHeaders: Readonly<Record<string, string>>) {
  const all = headers();
  all.set('Nats-Msg-Id', messageId);
  // NATS header names are case-sensitive: producers and consumers use the lower case of the W3C specification.
  const values = { ...extraHeaders, ...traceHeaders() };
  for (const name in values) all.set(name, values[name] ?? '');
  return all;
}
