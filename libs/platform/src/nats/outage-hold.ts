import { setTimeout as pause } from 'node:timers/promises';
import { Gauge } from 'prom-client';
import { DependencyUnavailable } from '../errors/app-error.js';
import { type Logger } from '../logging/logger.js';
import { type Delivery, type TrackedMessage } from './delivery.js';

const FIRST_HOLD_MS = 250;
const LONGEST_HOLD_MS = 5_000;

const heldBatches = new Gauge({
  name: 'event_bus_consumer_held_batches',
  help: 'Batches that a consumer holds because a server that it needs is away',
  labelNames: ['durable'],
});

type Tracked<T> = Delivery<T> & { readonly message: TrackedMessage };

interface HoldOptions {
  readonly durable: string;
  readonly logger: Logger;
  /** When it aborts, held messages go back to NATS. */
  readonly stopping: AbortSignal;
  readonly onRelease: () => void;
}

/**
 * Handles a batch, and repeats it while the handler throws DependencyUnavailable. Any other error is thrown to the caller at once.
 * A repeat uses up no delivery, because the consumer extends ack_wait during the pauses.
 *
 * | try        | after a pause of (± 25 %)  | since the first failure | messages              |
 * | ---------- | -------------------------- | ----------------------- | --------------------- |
 * | 2          | 0.25 s                     | 0.25 s                  | half of the batch     |
 * | 3          | 0.5 s                      | 0.75 s                  | a quarter             |
 * | 4, 5, 6    | 1 s, 2 s, 4 s              | 1.75 s, 3.75 s, 7.75 s  | half of the last try  |
 * | 7 and more | 5 s                        | + 5 s each, for ever    | halved down to 1      |
 *
 * A process that stops during an outage returns its held messages, and NATS counts the next delivery. After five such stops a message is at
 * the end of `max_deliver`. It is no dead letter then: `undeliveredConsumer` tries it alone when the outage is over. Not guaranteed: if it
 * fails for a passing reason in that trial, it becomes a dead letter at once, because it has no delivery left.
 *
 * After a success the pause starts at 0.25 s again, and the next part is larger by a 32nd of the batch. If a slow server would
 * always time out for the whole batch, the batch is handled in parts.
 */
export class OutageHold<T> {
  private held = 0;

  constructor(private readonly options: HoldOptions) {
    heldBatches.inc({ durable: options.durable }, 0);
  }

  get isHolding(): boolean {
    return this.held > 0;
  }

  async handle(
    deliveries: ReadonlyArray<Tracked<T>>,
    work: (part: ReadonlyArray<Tracked<T>>) => Promise<void>,
  ): Promise<void> {
    const { stopping } = this.options;
    let left = deliveries;
    let size = left.length;
    let holdMs = FIRST_HOLD_MS;
    let isHeld = false;
    try {
      for (;;) {
        const part = left.slice(0, size);
        const error = await outageDuring(() => work(part));
        left = error ? left.filter(({ message }) => !message.isSettled) : left.slice(part.length);
        if (left.length === 0) return;
        if (!error) {
          size += Math.ceil(deliveries.length / 32);
          holdMs = FIRST_HOLD_MS;
          continue;
        }
        if (!isHeld) this.hold(left.length, error);
        isHeld = true;
        size = Math.ceil(size / 2);
        for (const { message } of part) message.wasTried = true;
        const jitter = 0.75 + Math.random() / 2;
        await pause(holdMs * jitter, undefined, { signal: stopping }).catch(ignoreAbort);
        holdMs = Math.min(2 * holdMs, LONGEST_HOLD_MS);
        // A stopping worker returns its messages, because another worker may reach the server.
        if (stopping.aborted) return left.forEach(({ message }) => message.nak());
      }
    } finally {
      if (isHeld) this.release();
    }
  }

  private hold(messages: number, err: DependencyUnavailable): void {
    const { durable, logger } = this.options;
    logger.warn({ err, durable, messages }, 'a server does not answer; messages are held until it does');
    this.held += 1;
    heldBatches.inc({ durable });
  }

  private release(): void {
    heldBatches.dec({ durable: this.options.durable });
    this.held -= 1;
    this.options.onRelease();
  }
}

async function outageDuring(work: () => Promise<void>): Promise<DependencyUnavailable | undefined> {
  try {
    await work();
    return undefined;
  } catch (error) {
    if (error instanceof DependencyUnavailable) return error;
    throw error;
  }
}

/** Compares names, since a Node error is no `Error` of a module that runs in another realm, as test files do. */
export function ignoreAbort(error: unknown): void {
  if ((error as { name?: unknown } | undefined)?.name !== 'AbortError') throw error;
}
