import {
  type BeforeApplicationShutdown,
  Inject,
  Injectable,
  type OnApplicationBootstrap,
} from '@nestjs/common';
import { Database, LOGGER, type Logger, Loop, prepared } from '#platform';
import { ChangeNews } from '../change-news.js';
import { ChangeFeed, type Selection } from './change-feed.js';
import { type Place } from './cursor.js';

const POLL_MS = 1_000;
// The first reader ends this pause.
const PAUSE_WITHOUT_READERS_MS = 60_000;
// After more changes than this, waking every reader costs less than finding out whom they concern.
const MOST_AT_ONCE = 10_000;

const newChanges = prepared(
  'new changes',
  'select distinct athlete_id, type from change where seq > $1 and seq <= $2 and athlete_id is not null',
);

interface Reader extends Selection {
  /** There may be a change for this reader. */
  wake(): void;
}

/**
 * Tells the waiting readers of this process that there are changes for them. It looks at the log once for all of them: after a wake-up
 * through Redis, and each second. Without readers it does not look.
 *
 * A reader that first listens and then reads the feed misses nothing.
 */
@Injectable()
export class ChangeTail implements OnApplicationBootstrap, BeforeApplicationShutdown {
  private readonly byAthlete = new Map<string | undefined, Set<Reader>>();
  private readonly loop: Loop;
  private seen: Place | undefined;

  constructor(
    private readonly database: Database,
    private readonly feed: ChangeFeed,
    news: ChangeNews,
    @Inject(LOGGER) logger: Logger,
  ) {
    this.loop = new Loop('changes', () => this.pass(), logger);
    news.listen(() => {
      if (this.byAthlete.size > 0) this.loop.wake();
    });
  }

  onApplicationBootstrap(): void {
    this.loop.start();
  }

  beforeApplicationShutdown(): Promise<void> {
    return this.loop.stop();
  }

  /** All readers of changes up to this place have been told. Undefined: unknown. */
  get place(): Place | undefined {
    return this.seen;
  }

  /** Returns a function that ends the listening. */
  listen(reader: Reader): () => void {
    const { athleteId } = reader;
    const ofAthlete = this.byAthlete.get(athleteId) ?? new Set();
    this.byAthlete.set(athleteId, ofAthlete.add(reader));
    if (this.seen === undefined) this.loop.wake();
    return () => {
      ofAthlete.delete(reader);
      if (ofAthlete.size === 0 && this.byAthlete.get(athleteId) === ofAthlete)
        this.byAthlete.delete(athleteId);
    };
  }

  private async pass(): Promise<number> {
    if (this.byAthlete.size === 0) {
      this.seen = undefined;
      return PAUSE_WITHOUT_READERS_MS;
    }
    const head = await this.feed.head();
    const { seen } = this;
    if (!seen || isOtherLog(seen, head) || head.seq - seen.seq > MOST_AT_ONCE) this.wakeAll();
    else if (head.seq > seen.seq) await this.wakeBetween(seen, head);
    this.seen = head;
    return POLL_MS;
  }

  private async wakeBetween(seen: Place, head: Place): Promise<void> {
    const { rows } = await this.database.query<{ athlete_id: string; type: string }>(newChanges, [
      seen.seq,
      head.seq,
    ]);
    for (const { athlete_id, type } of rows) {
      this.wakeOf(athlete_id, type);
      this.wakeOf(undefined, type);
    }
  }

  private wakeOf(athleteId: string | undefined, type: string): void {
    for (const reader of this.byAthlete.get(athleteId) ?? [])
      if (!reader.types || reader.types.some((wanted) => wanted === type)) reader.wake();
  }

  private wakeAll(): void {
    for (const readers of this.byAthlete.values()) for (const reader of readers) reader.wake();
  }
}

/** True after the database was restored from a backup. */
const isOtherLog = (seen: Place, head: Place) =>
  head.seq < seen.seq || (head.seq === seen.seq && head.mark !== seen.mark);
