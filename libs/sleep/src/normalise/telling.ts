import { type EventBus } from '#platform';
import { sleepNormalizedStored } from '../contract/sleep-normalized-stored.js';
import { sleepRemoved } from '../contract/sleep-removed.js';
import { type Announcement, asItIs } from './announcements.js';
import { type SleepStore } from './sleep-store.js';

// A night that changes hands this often while it is told is told by whoever changes it next.
const MOST_CORRECTIONS = 10;

type Trace = Readonly<Record<string, string>>;

/** Publishes what became of nights, until what was published is how they are. */
export class Telling {
  constructor(
    private readonly store: Pick<SleepStore, 'overtaken'>,
    private readonly bus: EventBus,
  ) {}

  /** `traces`: by what they are because of. */
  async tell(announcements: readonly Announcement[], traces?: ReadonlyMap<string, Trace>): Promise<void> {
    let untold = announcements;
    for (let round = 0; untold.length > 0 && round < MOST_CORRECTIONS; round += 1) {
      await Promise.all(untold.map((one) => this.publish(one, traces?.get(one.because))));
      untold = await this.corrections(untold);
    }
  }

  /** Another worker may have stored and told something newer between our storing and our telling: it has to be the last word. */
  private async corrections(announcements: readonly Announcement[]): Promise<Announcement[]> {
    const because = new Map(
      announcements.map(({ told, because }) => [`${told.user_id}\n${told.date}`, because]),
    );
    const overtaken = await this.store.overtaken(announcements.map(({ told }) => told));
    return overtaken.map((night) => asItIs(night, because.get(`${night.user_id}\n${night.date}`) ?? ''));
  }

  private async publish(announcement: Announcement, trace?: Trace): Promise<void> {
    if (announcement.kind === 'stored')
      await this.bus.publish(sleepNormalizedStored, announcement.content, announcement.id, trace);
    else await this.bus.publish(sleepRemoved, announcement.content, announcement.id, trace);
  }
}
