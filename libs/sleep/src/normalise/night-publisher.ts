import { isDeepStrictEqual } from 'node:util';
import { type PubAck } from '@nats-io/jetstream';
import { type EventBus, MessageMalformed } from '#platform';
import { sleepNormalizedStored, sleepRemoved } from '../contract/night-events.js';
import { type Announcement, correctionOf } from './announcements.js';
import { type NightKey } from './columns.js';
import { NO_EVENT, type SleepStore } from './sleep-store.js';

// The publisher stops after this many rounds. The next worker that changes the night publishes its state.
const MOST_CORRECTIONS = 10;

type Headers = Readonly<Record<string, string>>;

/**
 * Publishes changed nights, until the last message about each night is its present state.
 *
 * A worker may have been frozen between storing and publishing, so each message is checked against the database after the stream has it.
 * An outdated message gets a correction. The correction's id contains the sequence of the outdated message, so the stream drops a
 * correction only if the same message has been corrected already. Not guaranteed: one message per change. Consumers may get a night's
 * state twice.
 */
export class NightPublisher {
  constructor(
    private readonly store: Pick<SleepStore, 'outdated'>,
    private readonly bus: Pick<EventBus, 'publish' | 'stored'>,
  ) {}

  /** `carried`: headers by the id of the event that caused an announcement. */
  async publish(
    announcements: readonly Announcement[],
    carried?: ReadonlyMap<string, Headers>,
  ): Promise<void> {
    let unpublished = announcements;
    for (let round = 0; unpublished.length > 0 && round < MOST_CORRECTIONS; round += 1) {
      const published = await Promise.all(
        unpublished.map((one) => this.publishOne(one, carried?.get(one.because))),
      );
      unpublished = await this.corrections(published);
    }
  }

  /** Another worker may have stored and published a newer state between our storing and our publishing. */
  private async corrections(published: readonly Published[]): Promise<Announcement[]> {
    const byNight = new Map<string, Published>();
    // If there are two messages about a night, a correction of the later one corrects both.
    for (const one of published) {
      const before = byNight.get(nameOf(one.night));
      if (!before || before.seq < one.seq) byNight.set(nameOf(one.night), one);
    }
    const outdated = await this.store.outdated([...byNight.values()].map(({ night }) => night));
    return outdated.flatMap((night) => {
      const stale = byNight.get(nameOf(night));
      return stale ? [correctionOf(night, stale.because, stale.seq)] : [];
    });
  }

  private async publishOne(announcement: Announcement, carried?: Headers): Promise<Published> {
    const { night, because } = announcement;
    const ack = await this.send(announcement, carried);
    const isCurrent = !ack.duplicate || (await this.hasContent(announcement, ack));
    return { because, seq: ack.seq, night: isCurrent ? night : { ...night, event_id: NO_EVENT } };
  }

  private send(announcement: Announcement, carried?: Headers): Promise<PubAck> {
    return announcement.kind === 'stored'
      ? this.bus.publish(sleepNormalizedStored, announcement.content, announcement.id, carried)
      : this.bus.publish(sleepRemoved, announcement.content, announcement.id, carried);
  }

  /** After a duplicate: true if the stream's message has this content or is erased. Two different events may have the same id. */
  private async hasContent({ kind, content }: Announcement, ack: PubAck): Promise<boolean> {
    const subject = kind === 'stored' ? sleepNormalizedStored : sleepRemoved;
    try {
      const stored = await this.bus.stored<object>(subject, ack);
      // Undefined: a deletion has erased the message.
      return stored === undefined || isDeepStrictEqual(stored, JSON.parse(JSON.stringify(content)));
    } catch (error) {
      if (error instanceof MessageMalformed) return false;
      throw error;
    }
  }
}

interface Published {
  readonly night: NightKey;
  readonly because: string;
  /** The sequence of the message in the stream. */
  readonly seq: number;
}

const nameOf = ({ user_id, date }: Pick<NightKey, 'user_id' | 'date'>) => `${user_id}\n${date}`;
