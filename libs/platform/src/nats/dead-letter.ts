import { types } from 'node:util';
import { type StoredMsg } from '@nats-io/jetstream';
import { headers, type MsgHdrs } from '@nats-io/transport-node';
import { withoutSecrets } from '../logging/redact.js';
import { REQUEST_ID } from '../tracing/origin.js';
import { ROUNDED_MS } from './stored-messages.js';

/** Time of an event's first arrival. Replays, and messages that follow from the event, keep this header. */
export const RECEIVED_AT = 'received-at';

// A dead letter has the bytes of the failed message, so that a replay publishes them unchanged. All other facts are in headers.
const HEADERS = {
  reason: 'dlq-reason',
  error: 'dlq-error',
  attempts: 'dlq-attempts',
  subject: 'dlq-subject',
  seq: 'dlq-seq',
  storedAt: 'dlq-stored-at',
  receivedAt: RECEIVED_AT,
} as const;
const ORIGIN_HEADERS = ['traceparent', 'tracestate', REQUEST_ID];
const LONGEST_ERROR = 500;
const DEEPEST_PAYLOAD = 100;

export interface FailedMessage {
  readonly stream: string;
  readonly durable: string;
  readonly seq: number;
  readonly subject: string;
  readonly bytes: Uint8Array;
  readonly headers: MsgHdrs | undefined;
  readonly receivedAt: Date;
}

export interface DeadLetterCause {
  readonly reason: string;
  readonly error: string;
  readonly attempts: number;
}

/** A dead letter as operators read it. */
export interface DeadLetter {
  readonly seq: number;
  readonly subject: string;
  readonly reason: string;
  readonly attempts: number | null;
  readonly error: string | null;
  readonly at: string;
  /** As the stream has them. A name may have several values. */
  readonly headers: Readonly<Record<string, readonly string[]>>;
  readonly payload: unknown;
}

/** A message of the dead-letter stream. The client has two types for such a message, so this type hides the difference. */
export interface Letter {
  readonly seq: number;
  readonly subject: string;
  readonly data: Uint8Array;
  readonly headers: MsgHdrs | undefined;
  readonly time: Date;
}

export function headersOfDeadLetter(dead: FailedMessage, cause: DeadLetterCause): MsgHdrs {
  const all = copied(dead.headers, ORIGIN_HEADERS);
  all.set(HEADERS.reason, cause.reason);
  all.set(HEADERS.error, printable(cause.error));
  all.set(HEADERS.attempts, String(cause.attempts));
  all.set(HEADERS.subject, dead.subject);
  all.set(HEADERS.seq, String(dead.seq));
  all.set(HEADERS.storedAt, dead.receivedAt.toISOString());
  all.set(HEADERS.receivedAt, receivedAt(dead.headers, dead.receivedAt).toISOString());
  return all;
}

export function headersOfReplay(letter: Letter): MsgHdrs {
  return copied(letter.headers, [...ORIGIN_HEADERS, HEADERS.receivedAt]);
}

/** The subject that the message had before it failed. */
export function originOf(letter: Letter): string | undefined {
  return letter.headers?.get(HEADERS.subject) || undefined;
}

/** The sequence of the failed message in its stream. Undefined for a dead letter of a release before 0.2. */
export function sourceSeqOf(letter: Letter): number | undefined {
  return Number(letter.headers?.get(HEADERS.seq)) || undefined;
}

/** False if the stream was created again or restored since, and has another message at the sequence. */
export function isMadeOf(letter: Letter, { subject, data, time }: StoredMsg): boolean {
  const storedAtMs = Date.parse(letter.headers?.get(HEADERS.storedAt) ?? '');
  return (
    subject === originOf(letter) &&
    Math.abs(time.getTime() - storedAtMs) <= ROUNDED_MS &&
    Buffer.compare(data, letter.data) === 0
  );
}

/** Time of the event's first arrival; a replayed event keeps it. A header of a stranger that is no time counts as absent. */
export function receivedAt(known: MsgHdrs | undefined, storedAt: Date): Date {
  const at = new Date(known?.get(HEADERS.receivedAt) ?? '');
  return Number.isNaN(at.getTime()) ? storedAt : at;
}

export const letterOf = ({ seq, subject, data, header, time }: StoredMsg): Letter => ({
  seq,
  subject,
  data,
  headers: header,
  time,
});

export function readable({ seq, subject, headers: known, time, data }: Letter): DeadLetter {
  const attempts = known?.get(HEADERS.attempts);
  return {
    seq,
    subject,
    reason: known?.get(HEADERS.reason) || reasonOf(subject),
    attempts: attempts ? Number(attempts) : null,
    error: known?.get(HEADERS.error) || null,
    at: time.toISOString(),
    headers: Object.fromEntries(known?.keys().map((name) => [name, known.values(name)]) ?? []),
    payload: payloadOf(Buffer.from(data).toString()),
  };
}

/** The last token of the subject: dead letters are published on `<prefix>.<reason>`. */
export const reasonOf = (subject: string) => subject.slice(subject.lastIndexOf('.') + 1);

/** The message of an error, followed by the messages of its causes. */
export function deadLetterCauseOf(error: unknown): string {
  if (!types.isNativeError(error)) return String(error);
  return error.cause === undefined ? error.message : `${error.message}: ${deadLetterCauseOf(error.cause)}`;
}

function copied(from: MsgHdrs | undefined, names: readonly string[]): MsgHdrs {
  const all = headers();
  for (const name of names) {
    const value = from?.get(name);
    if (value) all.set(name, value);
  }
  return all;
}

/** The parsed JSON, or the text if it is not JSON, or too deep to be printed. */
function payloadOf(text: string): unknown {
  if (isDeep(text)) return text;
  try {
    return JSON.parse(text);
  } catch {
    return text;
  }
}

/**
 * JSON.parse reads any depth, but JSON.stringify recurses, and overflows the stack after some thousand levels. Brackets in strings count, too,
 * which shows a strange letter as text.
 */
function isDeep(text: string): boolean {
  let levels = 0;
  for (const sign of text)
    if (sign === '[' || sign === '{') {
      levels += 1;
      if (levels > DEEPEST_PAYLOAD) return true;
    } else if (sign === ']' || sign === '}') levels -= 1;
  return false;
}

/** Removes line breaks, which would end the header. */
function printable(text: string): string {
  const safe = withoutSecrets(text) as string;
  return safe.replace(/[\u0000-\u001f\u007f]+/g, ' ').slice(0, LONGEST_ERROR);
}
