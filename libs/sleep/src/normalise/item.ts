import { type JsMsg } from '@nats-io/jetstream';
import { continueTrace, type ContinuedTrace, receivedAt } from '#platform';
import { type SleepRawReceived } from '../contract/sleep-raw-received.js';
import { sessionOf, type SleepSession } from './session.js';

/** A message of a batch, and what it says. */
export interface Item {
  readonly message: JsMsg;
  readonly session: SleepSession;
  readonly trace: ContinuedTrace;
}

export function itemOf(message: JsMsg, event: SleepRawReceived): Item {
  const stored = new Date(message.info.timestampNanos / 1e6);
  const session = sessionOf(event, message.data, receivedAt(message.headers, stored).getTime());
  return { message, session, trace: continueTrace('normalize.sleep.consume', message.headers) };
}

/** The source's fields for a line about a message. */
export function facts({ info }: JsMsg): object {
  return {
    streamSeq: info.streamSequence,
    deliverySeq: info.deliverySequence,
    redeliveries: info.deliveryCount - 1,
  };
}
