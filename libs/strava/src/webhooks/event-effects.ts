import { type StravaClient, type Who } from '../strava-client.js';
import { StravaNotFound, StravaTokenRevoked } from '../strava.errors.js';
import { type Aspect, readEvent } from './event.js';
import { type Answered, type Owner, type StravaAthletes, type StravaEvents } from './strava-events.js';

/** An event that waits. */
export interface WaitingEvent {
  readonly id: string;
  readonly aspect: Aspect;
  readonly eventTime: Date;
  readonly raw: string;
}

/** All that waits about one object of one owner: what it says together is done once. */
export interface Matter {
  readonly ownerId: string;
  readonly objectType: string;
  readonly objectId: string;
  readonly events: readonly WaitingEvent[];
  /** When an event said so that was found true. */
  readonly deletedAt: Date | undefined;
}

export type Outcome = 'applied' | 'deleted' | 'deauthorized' | 'superseded' | 'ignored';

// A person has just uploaded and looks at the app; and a window's boundary is over within seconds.
const WAIT_MS = 10_000;
// Of two in the same second the later in this order; what is deleted is asked for anyway.
const RANK: Record<Aspect, number> = { create: 0, update: 1, delete: 2 };

/** What Strava's events lead to. They are unsigned: nothing is removed before Strava has said so itself. */
export class EventEffects {
  constructor(
    private readonly client: Pick<StravaClient, 'activity' | 'athlete'>,
    private readonly athletes: StravaAthletes,
    private readonly events: StravaEvents,
  ) {}

  async apply(matter: Matter): Promise<Outcome> {
    const owner = await this.athletes.athleteOf(matter.ownerId);
    if (!owner) return 'ignored';
    return matter.objectType === 'activity'
      ? this.applyToActivity(owner, matter)
      : this.applyToAthlete(owner, matter);
  }

  private async applyToActivity(owner: Owner, { objectId, events, deletedAt }: Matter): Promise<Outcome> {
    const latest = [...events].sort(byTime).at(-1);
    // The create of what is known to have been deleted after it, or the delete itself once more.
    if (!latest || (deletedAt && latest.eventTime <= deletedAt)) return 'superseded';
    const answered = latest.aspect === 'delete' ? await this.look(owner.athleteId, objectId) : undefined;
    if (latest.aspect === 'delete' && !answered) {
      await this.events.activityDeleted(owner, objectId, latest.eventTime);
      return 'deleted';
    }
    // A create counts from its own time: an update after it says nothing about a deletion in between.
    const created = [...events].sort(byTime).findLast(({ aspect }) => aspect === 'create');
    const { eventTime } = created ?? latest;
    await this.events.activityChanged(owner, objectId, eventTime, created ? 'create' : 'update', answered);
    return 'applied';
  }

  private async applyToAthlete(owner: Owner, { events }: Matter): Promise<Outcome> {
    const saysGoodbye = events.some(({ raw }) => readEvent(raw).updates.authorized === 'false');
    if (!saysGoodbye || (await this.isConnected(owner.athleteId))) return 'ignored';
    return (await this.events.deauthorized(owner)) ? 'deauthorized' : 'superseded';
  }

  /** Nothing where Strava does not have it any more. */
  private async look(athleteId: string, activityId: string): Promise<Answered | undefined> {
    const askedAt = new Date();
    try {
      return { askedAt, detail: await this.client.activity(live(athleteId), activityId) };
    } catch (error) {
      if (error instanceof StravaNotFound) return undefined;
      throw error;
    }
  }

  private async isConnected(athleteId: string): Promise<boolean> {
    try {
      await this.client.athlete(live(athleteId));
      return true;
    } catch (error) {
      if (error instanceof StravaTokenRevoked) return false;
      throw error;
    }
  }
}

const live = (athleteId: string): Who => ({ athleteId, class: 'live', waitMs: WAIT_MS });

function byTime(a: WaitingEvent, b: WaitingEvent): number {
  return (
    a.eventTime.getTime() - b.eventTime.getTime() ||
    RANK[a.aspect] - RANK[b.aspect] ||
    Number(BigInt(a.id) - BigInt(b.id))
  );
}
