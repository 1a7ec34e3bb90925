import { type JsMsg } from '@nats-io/jetstream';
import { type MessageMalformed } from './subject.js';

/** The part of a message that a handler uses: reading it and settling it. */
export type DeliveredMessage = Pick<
  JsMsg,
  'subject' | 'data' | 'headers' | 'redelivered' | 'ack' | 'nak' | 'term'
> & {
  readonly info: Pick<
    JsMsg['info'],
    'stream' | 'consumer' | 'streamSequence' | 'deliverySequence' | 'deliveryCount' | 'timestampNanos'
  >;
};

export interface Delivery<T> {
  readonly message: DeliveredMessage;
  readonly content: T | MessageMalformed;
}

/** A message that records whether it was tried and settled, which the client does not expose. */
export class TrackedMessage implements DeliveredMessage {
  isSettled = false;
  wasTried = false;

  constructor(private readonly message: JsMsg) {}

  get subject(): string {
    return this.message.subject;
  }

  get data(): Uint8Array {
    return this.message.data;
  }

  get headers(): DeliveredMessage['headers'] {
    return this.message.headers;
  }

  /** True also after a first try in this process: the handler may have stored or published something before the server went away. */
  get redelivered(): boolean {
    return this.wasTried || this.message.redelivered;
  }

  get info(): DeliveredMessage['info'] {
    return this.message.info;
  }

  ack(): void {
    this.isSettled = true;
    this.message.ack();
  }

  nak(delayMs?: number): void {
    this.isSettled = true;
    this.message.nak(delayMs);
  }

  term(): void {
    this.isSettled = true;
    // No reason is sent: a 2.9 server does not understand a `term` with a reason, and would deliver the message again.
    this.message.term();
  }
}
