import { Inject, Injectable, type OnApplicationBootstrap } from '@nestjs/common';
import { type NatsConnection } from '@nats-io/transport-node';
import { validate as isUuid } from 'uuid';
import {
  allSettled,
  CORE_STREAM,
  DependencyUnavailable,
  EventBus,
  type Held,
  LOGGER,
  type Logger,
  NATS,
  type Outcome,
  storedMessages,
  type Worker,
  Workers,
} from '#platform';
import { changeText, ERASED } from '../change.js';
import { ChangeNews } from '../change-news.js';
import { published } from './relay-metrics.js';
import { type Published, type RelayClaim, RelayStore, type ToPublish } from './relay-store.js';

const SUBJECT = 'athlete-ally.changes';
const LEASE_MS = 15_000;
const EVERY_MS = 1_000;
// The acknowledgements of a batch are awaited together, and a killed relay publishes at most one batch again.
const BATCH = 500;
// The largest message that a NATS server accepts by default has 1 MB, with its headers.
const MOST_BYTES = 900_000;

type RelayOutcome = Outcome & { readonly kind: 'finished' | 'interrupted' | 'unavailable' | 'failed' };

/**
 * Publishes the log of changes to NATS, in its order, with the change's id as message id. One worker at a time holds the relay.
 *
 * | the relay            | consequence                                                                             |
 * | -------------------- | --------------------------------------------------------------------------------------- |
 * | dies, is frozen      | another one goes on when the lease ends, after 15 s; it publishes up to 500 changes again |
 * | cannot reach NATS    | it tries again each second; nothing is lost                                             |
 *
 * The stream drops a second message with the same id within two hours. Before it publishes, a relay also reads which of the changes that
 * its predecessor left are in the stream: a deletion needs the sequence of every message. Not guaranteed: the order of messages after a
 * failed publish.
 */
@Injectable()
export class ChangeRelay implements OnApplicationBootstrap {
  private readonly worker: Worker<RelayClaim, RelayOutcome>;

  constructor(
    private readonly store: RelayStore,
    private readonly bus: EventBus,
    @Inject(NATS) private readonly connection: NatsConnection,
    workers: Workers,
    news: ChangeNews,
    @Inject(LOGGER) private readonly logger: Logger,
  ) {
    this.worker = workers.of<RelayClaim, RelayOutcome>({
      name: 'change relay',
      lease: { ms: LEASE_MS },
      everyMs: EVERY_MS,
      claim: (leaseMs) => store.claim(leaseMs),
      renew: (claim, leaseMs) => store.renew(claim, leaseMs),
      run: (claim, held) => this.run(claim, held),
      failed: () => ({ kind: 'failed', pauses: true }),
      settle: (claim, { kind }) => store.settle(claim, kind === 'unavailable' || kind === 'failed'),
    });
    news.listen(() => this.worker.wake());
  }

  onApplicationBootstrap(): void {
    this.worker.start();
  }

  /** Publishes all that waits; for tests and the bench. */
  async drain(): Promise<void> {
    await this.worker.drain();
  }

  private async run(claim: RelayClaim, { isStopping }: Held): Promise<RelayOutcome> {
    try {
      if (claim.needs_recovery) await this.recover(claim);
      for (let after = claim.published_seq; ;) {
        const batch = await this.store.next(after, BATCH);
        const last = batch.at(-1);
        if (!last) return { kind: 'finished' };
        if (isStopping()) return { kind: 'interrupted' };
        await this.store.store(claim, last.seq, await this.publishAll(batch));
        after = last.seq;
      }
    } catch (err) {
      if (!(err instanceof DependencyUnavailable)) throw err;
      this.logger.debug({ err }, 'changes wait for NATS');
      return { kind: 'unavailable', pauses: true };
    }
  }

  /** Finds the messages that the last holder published without storing their sequences. */
  private async recover(claim: RelayClaim): Promise<void> {
    const found = new Map<string, number>();
    const range = {
      stream: CORE_STREAM,
      subject: `${SUBJECT}.>`,
      from: { seq: Number(claim.stream_seq) + 1 },
    };
    for await (const messages of storedMessages(this.connection, range))
      for (const { headers, seq } of messages) {
        const id = headers?.get('Nats-Msg-Id') ?? '';
        if (isUuid(id)) found.set(id, seq);
      }
    if (found.size > 0) await this.store.storeFound(claim, found, BATCH);
  }

  /** Resolves with the changes whose messages were not known to be in the stream. */
  private async publishAll(batch: readonly ToPublish[]): Promise<readonly Published[]> {
    const waiting = batch.filter(({ type, published_as }) => type !== ERASED && published_as === null);
    const publishes = waiting.map((change) => this.publish(change));
    await allSettled(publishes);
    return Promise.all(publishes);
  }

  private async publish(change: ToPublish): Promise<Published> {
    const { seq, type, id } = change;
    try {
      const text = this.messageOf(change);
      const { seq: streamSeq } = await this.bus.publishText({
        name: `${SUBJECT}.${type}`,
        topic: 'changes',
        text,
        messageId: id,
      });
      published.inc({ status: 'success' });
      return { seq, streamSeq };
    } catch (error) {
      published.inc({ status: 'error' });
      throw error;
    }
  }

  /** A change that is too large for a message would stop all changes after it, so its data is left out. */
  private messageOf(change: ToPublish): string {
    const text = changeText(change);
    if (text.length * 3 < MOST_BYTES || Buffer.byteLength(text) < MOST_BYTES) return text;
    this.logger.error(
      { change_id: change.id },
      'a change is too large for NATS; it is published without data',
    );
    return changeText({ ...change, data: null });
  }
}
