import { JetStreamError, type PubAck } from '@nats-io/jetstream';
import { createInbox, type Msg, type MsgHdrs, type NatsConnection } from '@nats-io/transport-node';
import { DependencyUnavailable } from '../errors/app-error.js';

const LOOK_MS = 50;
const NO_RESPONDERS = 503;

interface Waiting {
  readonly subject: string;
  readonly deadlineMs: number;
  resolve(ack: PubAck): void;
  reject(error: Error): void;
}

/**
 * Publishes and waits for the stream's word. The client can do that too, with a timer for each and an error with its stack made for
 * each that succeeds: a quarter of what the normaliser needs for a message. Here all share one inbox and one timer.
 */
export class AcknowledgedPublish {
  private readonly inbox = createInbox();
  private readonly waiting = new Map<string, Waiting>();
  private next = 0;
  private timer: NodeJS.Timeout | undefined;

  constructor(
    private readonly connection: NatsConnection,
    private readonly timeoutMs: number,
  ) {
    connection.subscribe(`${this.inbox}.*`, {
      callback: (error, message) => {
        if (!error) this.settle(message);
      },
    });
  }

  send(subject: string, text: string, headers: MsgHdrs): Promise<PubAck> {
    const reply = `${this.inbox}.${(this.next += 1)}`;
    return new Promise((resolve, reject) => {
      this.connection.publish(subject, text, { reply, headers });
      this.waiting.set(reply, { subject, deadlineMs: performance.now() + this.timeoutMs, resolve, reject });
      this.timer ??= setInterval(() => this.giveUpOnTheOldest(), LOOK_MS);
    });
  }

  private settle(message: Msg): void {
    const one = this.waiting.get(message.subject);
    if (!one) return;
    this.waiting.delete(message.subject);
    if (this.waiting.size === 0) this.rest();
    if (message.headers?.code === NO_RESPONDERS) return one.reject(new DependencyUnavailable('nats'));
    try {
      one.resolve(ackOf(message, one.subject));
    } catch (error) {
      one.reject(error as Error);
    }
  }

  /** They are in the order in which they were sent, and all may take equally long. */
  private giveUpOnTheOldest(): void {
    const nowMs = performance.now();
    for (const [reply, one] of this.waiting) {
      if (one.deadlineMs > nowMs) return;
      this.waiting.delete(reply);
      one.reject(new DependencyUnavailable('nats'));
    }
    this.rest();
  }

  private rest(): void {
    clearInterval(this.timer);
    this.timer = undefined;
  }
}

function ackOf(message: Msg, subject: string): PubAck {
  const said = message.json<PubAck & { error?: { code: number; description: string } }>();
  // No room, no leader, not now: as good as away, for whoever asks may ask again.
  if (said.error && said.error.code >= 500)
    throw new DependencyUnavailable('nats', { cause: new JetStreamError(said.error.description) });
  if (said.error) throw new JetStreamError(`${subject}: ${said.error.description}`);
  if (!said.stream) throw new JetStreamError(`${subject}: no stream has answered`);
  said.duplicate ??= false;
  return said;
}
