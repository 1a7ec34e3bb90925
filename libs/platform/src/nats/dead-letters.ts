import { types } from 'node:util';
import { jetstream, type JetStreamClient, type StoredMsg } from '@nats-io/jetstream';
import { headers, type MsgHdrs, type NatsConnection } from '@nats-io/transport-node';
import { NotFound } from '../errors/app-error.js';
import { withoutSecrets } from '../logging/redact.js';
import { type Link } from './connect.js';
import { natsFailure } from './nats-failure.js';
import { DLQ_STREAM } from './streams.js';

const TIMEOUT_MS = 1_500;
const LONGEST_ERROR = 500;
// Of the message that has died; its bytes are the dead letter's, so that replaying is publishing them again.
const HEADERS = {
  reason: 'dlq-reason',
  error: 'dlq-error',
  attempts: 'dlq-attempts',
  subject: 'dlq-subject',
  receivedAt: 'received-at',
} as const;
const CARRIED = ['traceparent', 'tracestate'];

export interface Casualty {
  readonly stream: string;
  readonly durable: string;
  readonly seq: number;
  readonly subject: string;
  readonly bytes: Uint8Array;
  readonly headers: MsgHdrs | undefined;
  readonly receivedAt: Date;
}

export interface Cause {
  readonly reason: string;
  readonly error: string;
  readonly attempts: number;
}

export interface DeadLetter {
  readonly seq: number;
  readonly subject: string;
  readonly reason: string;
  readonly attempts: number | null;
  readonly error: string | null;
  readonly at: string;
  readonly payload: unknown;
}

export interface DeadLetterPage {
  readonly items: readonly DeadLetter[];
  readonly next_cursor: string | null;
}

/** What could not be worked on, kept in the stream AA_DLQ until somebody looks at it or its time is over. */
export class DeadLetters {
  private readonly js: JetStreamClient;

  constructor(
    connection: NatsConnection,
    private readonly link: Link,
  ) {
    this.js = jetstream(connection, { timeout: TIMEOUT_MS });
  }

  /** Resolves once it is kept; the same message of the same consumer is kept once. */
  async bury(prefix: string, dead: Casualty, { reason, error, attempts }: Cause): Promise<void> {
    const all = headers();
    for (const name of CARRIED) {
      const value = dead.headers?.get(name);
      if (value) all.set(name, value);
    }
    all.set(HEADERS.reason, reason);
    all.set(HEADERS.error, printable(error));
    all.set(HEADERS.attempts, String(attempts));
    all.set(HEADERS.subject, dead.subject);
    all.set(HEADERS.receivedAt, receivedAt(dead.headers, dead.receivedAt).toISOString());
    // The time tells apart messages of streams that were made anew.
    const msgID = `${dead.stream}-${dead.durable}-${dead.seq}-${dead.receivedAt.getTime()}`;
    await this.asking(() => this.js.publish(`${prefix}.${reason}`, dead.bytes, { msgID, headers: all }));
  }

  /** In the order in which they died; `after` is the sequence of the last one seen. */
  async list(after: number, limit: number): Promise<DeadLetterPage> {
    const items: DeadLetter[] = [];
    for (let seq = after + 1; items.length < limit;) {
      const message = await this.next(seq);
      if (!message) return { items, next_cursor: null };
      items.push(letterOf(message));
      seq = message.seq + 1;
    }
    const last = items.at(-1)?.seq ?? after;
    return { items, next_cursor: (await this.next(last + 1)) ? String(last) : null };
  }

  async find(seq: number): Promise<DeadLetter> {
    return letterOf(await this.get(seq));
  }

  /** Its bytes are published as a new message where the dead one came from, and it leaves the stream. */
  async replay(seq: number): Promise<void> {
    const message = await this.get(seq);
    const subject = message.header.get(HEADERS.subject);
    if (!subject) throw new NotFound('This dead letter does not say where it came from');
    const all = headers();
    for (const name of [...CARRIED, HEADERS.receivedAt]) {
      const value = message.header.get(name);
      if (value) all.set(name, value);
    }
    // The same for a replay that is asked for twice; the time tells apart streams that were made anew.
    const msgID = `dlq-replay-${seq}-${message.timestamp}`;
    await this.asking(() => this.js.publish(subject, message.data, { msgID, headers: all }));
    await this.remove(seq);
  }

  async discard(seq: number): Promise<void> {
    await this.get(seq);
    await this.remove(seq);
  }

  /** How many there are, by reason; undefined while nobody can say. */
  async countByReason(): Promise<ReadonlyMap<string, number> | undefined> {
    if (!this.link.isUp()) return undefined;
    try {
      const { state } = await (await this.manager()).streams.info(DLQ_STREAM, { subjects_filter: '>' });
      const counts = new Map<string, number>();
      for (const [subject, count] of Object.entries(state.subjects ?? {}))
        counts.set(reasonOf(subject), (counts.get(reasonOf(subject)) ?? 0) + count);
      return counts;
    } catch {
      return undefined;
    }
  }

  /** Somebody else may have been quicker. */
  private async remove(seq: number): Promise<void> {
    try {
      await this.asking(async () => (await this.manager()).streams.deleteMessage(DLQ_STREAM, seq));
    } catch (error) {
      if (await this.stored({ seq })) throw error;
    }
  }

  private async get(seq: number): Promise<StoredMsg> {
    const message = await this.stored({ seq });
    if (!message) throw new NotFound('No such dead letter');
    return message;
  }

  private next(seq: number): Promise<StoredMsg | undefined> {
    return this.stored({ seq, next_by_subj: 'dlq.>' });
  }

  private stored(query: { seq: number; next_by_subj?: string }): Promise<StoredMsg | undefined> {
    return this.asking(
      async () => (await (await this.manager()).streams.getMessage(DLQ_STREAM, query)) ?? undefined,
    );
  }

  private manager() {
    return this.js.jetstreamManager(false);
  }

  private async asking<T>(ask: () => Promise<T>): Promise<T> {
    try {
      return await ask();
    } catch (error) {
      throw natsFailure(error);
    }
  }
}

/** When the event came in at first, whatever has become of it since. */
export function receivedAt(carried: MsgHdrs | undefined, storedAt: Date): Date {
  const text = carried?.get(HEADERS.receivedAt);
  return text ? new Date(text) : storedAt;
}

function letterOf(message: StoredMsg): DeadLetter {
  const attempts = message.header.get(HEADERS.attempts);
  return {
    seq: message.seq,
    subject: message.subject,
    reason: message.header.get(HEADERS.reason) || reasonOf(message.subject),
    attempts: attempts ? Number(attempts) : null,
    error: message.header.get(HEADERS.error) || null,
    at: message.time.toISOString(),
    payload: payloadOf(message),
  };
}

/** As it was, or as text where it is not even JSON. */
function payloadOf(message: StoredMsg): unknown {
  try {
    return message.json();
  } catch {
    return message.string();
  }
}

const reasonOf = (subject: string) => subject.slice(subject.lastIndexOf('.') + 1);

/** A line break would end the header. */
function printable(text: string): string {
  const safe = withoutSecrets(text) as string;
  return safe.replace(/[\u0000-\u001f\u007f]+/g, ' ').slice(0, LONGEST_ERROR);
}

/** The words of an error and of what caused it. */
export function causeOf(error: unknown): string {
  if (!types.isNativeError(error)) return String(error);
  return error.cause === undefined ? error.message : `${error.message}: ${causeOf(error.cause)}`;
}
