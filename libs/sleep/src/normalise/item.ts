import {
  continueTrace,
  type ContinuedTrace,
  type DeliveredMessage,
  receivedAt,
  REQUEST_ID,
  requestIdField,
} from '#platform';
import { type SleepRawReceived } from '../contract/sleep-raw-received.js';
import { storedAt } from '../dead-letter.js';
import { sessionOf, type SleepSession } from './session.js';

/** A message of a batch and the session in it. */
export interface Item {
  readonly message: DeliveredMessage;
  readonly session: SleepSession;
  readonly trace: ContinuedTrace;
}

export function itemOf(message: DeliveredMessage, event: SleepRawReceived): Item {
  const received = receivedAt(message.headers, storedAt(message));
  const session = sessionOf(event, message.data, received.getTime());
  return { message, session, trace: continueTrace('normalize.sleep.consume', message.headers) };
}

/** Log fields of a message: its place in the stream, and the request and the trace that it comes from. */
export function logFieldsOf({ info, headers }: DeliveredMessage): object {
  const [, traceId] = headers?.get('traceparent').split('-') ?? [];
  return {
    ...requestIdField(headers?.get(REQUEST_ID)),
    ...(traceId && { trace_id: traceId }),
    streamSeq: info.streamSequence,
    deliverySeq: info.deliverySequence,
    redeliveries: info.deliveryCount - 1,
  };
}
