import { JetStreamError, type PubAck } from '@nats-io/jetstream';
import { createInbox, type Msg, type MsgHdrs, type NatsConnection } from '@nats-io/transport-node';
import { DependencyUnavailable } from '../errors/app-error.js';

const CHECK_MS = 50;
const NO_RESPONDERS = 503;

interface Waiting {
  readonly subject: string;
  readonly deadlineMs: number;
  resolve(ack: PubAck): void;
  reject(error: Error): void;
}

/**
 * Publishes messages and waits for the acknowledgement of their stream. All messages share one inbox and one timer. The client's own
 * `publish` makes a timer and an error with a stack trace for each message, which took a seventh of the normaliser's time.
 *
 * This class does not retry. A message whose publish timed out may still have been stored.
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
      this.timer ??= setInterval(() => this.rejectOverdue(), CHECK_MS);
    });
  }

  private settle(message: Msg): void {
    const publish = this.waiting.get(message.subject);
    if (!publish) return;
    this.waiting.delete(message.subject);
    if (this.waiting.size === 0) this.stopTimer();
    if (message.headers?.code === NO_RESPONDERS) return publish.reject(new DependencyUnavailable('nats'));
    try {
      publish.resolve(ackOf(message, publish.subject));
    } catch (error) {
      publish.reject(error as Error);
    }
  }

  /** All messages have the same timeout, and the map keeps their order. So the loop stops at the first message that is not overdue. */
  private rejectOverdue(): void {
    const nowMs = performance.now();
    for (const [reply, publish] of this.waiting) {
      if (publish.deadlineMs > nowMs) return;
      this.waiting.delete(reply);
      publish.reject(new DependencyUnavailable('nats'));
    }
    this.stopTimer();
  }

  private stopTimer(): void {
    clearInterval(this.timer);
    this.timer = undefined;
  }
}

function ackOf(message: Msg, subject: string): PubAck {
  const answer = message.json<PubAck & { error?: { code: number; description: string } }>();
  // The stream has no space or no leader, or the server is overloaded. The caller may repeat the publish, as if the server did not answer.
  if (answer.error && answer.error.code >= 500)
    throw new DependencyUnavailable('nats', { cause: new JetStreamError(answer.error.description) });
  if (answer.error) throw new JetStreamError(`${subject}: ${answer.error.description}`);
  if (!answer.stream) throw new JetStreamError(`${subject}: no stream has answered`);
  answer.duplicate ??= false;
  return answer;
}
