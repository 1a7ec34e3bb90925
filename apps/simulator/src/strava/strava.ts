import {
  type Activity,
  type ActivityOverrides,
  type AthleteProfile,
  createHistory,
  withOverrides,
} from '#training-world';
import { type Athlete, type Core, type TokenPair, TokenStore } from '../core/index.js';
import { ActivityLibrary, type SavedLibrary } from './activity-library.js';
import { Events } from './events.js';
import { Habits } from '../wearables/habits.js';
import { HABITS_OF_2026, STRAVA_TOKENS, StravaHabits } from './strava-facts.js';
import { Subscriptions } from './subscriptions.js';
import { isPrivate } from './access.js';

const DAY_MS = 86_400_000;

/** The options of an athlete's history. Equal options, seed and day of creation give an equal history. */
interface Past {
  readonly count: number;
  readonly manualShare?: number;
  readonly privateShare?: number;
  readonly privateNewest?: number;
  readonly firstActivityId?: string;
  readonly endsAtMs?: number;
}

interface NewAthlete extends Past {
  readonly id?: string;
  readonly seed?: number;
}

interface SavedActivities {
  readonly pasts: readonly (readonly [string, Past])[];
  readonly library: SavedLibrary;
}

/** The state of the simulated Strava. Each change that sends an event to the app is a method here. */
export class Strava {
  readonly tokens: TokenStore;
  readonly habits: Habits<typeof StravaHabits>;
  readonly library = new ActivityLibrary();
  readonly subscriptions: Subscriptions;
  private readonly events: Events;
  private readonly pasts = new Map<string, Past>();

  constructor(readonly core: Core) {
    const graceSeconds = core.options.refreshGraceSeconds;
    this.tokens = new TokenStore(core.clock, { ...STRAVA_TOKENS, graceSeconds });
    this.habits = new Habits(core, 'strava', StravaHabits, HABITS_OF_2026);
    this.subscriptions = new Subscriptions(core);
    this.events = new Events(core, this.subscriptions);
    core.world.onReset(() => {
      this.tokens.reset();
      this.library.clear();
      this.pasts.clear();
    });
    core.memory.keep('strava tokens', this.tokens);
    core.memory.keep('strava subscriptions', this.subscriptions);
    core.memory.keep('strava activities', {
      save: () => ({ pasts: [...this.pasts], library: this.library.save() }),
      restore: (saved: SavedActivities) => this.restoreActivities(saved),
    });
  }

  addAthleteWithHistory({ id, seed, ...past }: NewAthlete): Athlete {
    const athlete = this.core.world.addAthlete('strava', { id, seed });
    // Two athletes with the same seed would have equal activity ids. So the second athlete gets the next free ids.
    if (!this.addHistoryOf(athlete, past)) {
      this.addHistoryOf(athlete, { ...past, firstActivityId: String(this.library.freeId()) });
    }
    return athlete;
  }

  profile(athleteId: string): AthleteProfile | undefined {
    return this.core.world.athlete('strava', athleteId)?.profile;
  }

  createdAtMs(athleteId: string): number {
    return this.core.world.athlete('strava', athleteId)?.createdAtMs ?? 0;
  }

  exchange(code: string): TokenPair | 'full' | undefined {
    const athleteId = this.tokens.ownerOfCode(code);
    if (athleteId === undefined) return undefined;
    return this.isFullFor(athleteId) ? 'full' : this.tokens.exchange(code);
  }

  /** True if the fault `athlete_limit` or the app's capacity refuses this athlete. A connected athlete is never refused. */
  isFullFor(athleteId: string): boolean {
    if (this.tokens.isConnected(athleteId)) return false;
    if (this.core.faults.isArmed('strava', 'athlete_limit')) return true;
    const { athleteCapacity = Infinity } = this.core.app('strava');
    return this.tokens.connectedCount() >= athleteCapacity;
  }

  upload(athleteId: string, activity: Activity, streamsLateMs: number): void {
    const faultMs = this.core.faults.streamLatenessMs('strava');
    const latenessMs = this.core.clock.scaledMs(Math.max(streamsLateMs, faultMs));
    this.library.add(athleteId, activity, this.core.clock.nowMs() + latenessMs);
    if (this.isShownTo(athleteId, activity)) this.publish(athleteId, activity.id, 'create');
  }

  edit(activity: Activity, changes: ActivityOverrides): Activity {
    const edited = withOverrides(activity, changes);
    const athleteId = activity.athlete.id;
    this.library.replace(athleteId, edited);
    const updates = updatesOf(changes);
    if (isPrivate(activity) !== isPrivate(edited)) updates.private = String(isPrivate(edited));
    this.publishEdit(athleteId, activity, edited, updates);
    return edited;
  }

  remove(activity: Activity): void {
    const athleteId = activity.athlete.id;
    this.library.remove(athleteId, activity.id);
    if (this.isShownTo(athleteId, activity)) this.publish(athleteId, activity.id, 'delete');
  }

  /** Ends all grants and sends the app an `update` of the athlete. */
  deauthorize(athleteId: string): void {
    if (this.tokens.revokeAthlete(athleteId) === 0) return;
    const updates = { authorized: 'false' };
    this.events.publish({
      objectType: 'athlete',
      aspect: 'update',
      objectId: athleteId,
      ownerId: athleteId,
      updates,
    });
  }

  /** If an id is taken, stores nothing and returns false. */
  private addHistoryOf(athlete: Athlete, past: Past): boolean {
    const isStored = this.library.addHistory(athlete.id, historyOf(athlete, past));
    if (isStored) this.pasts.set(athlete.id, past);
    return isStored;
  }

  private restoreActivities({ pasts, library }: SavedActivities): void {
    for (const [id, past] of pasts) this.addHistoryOf(this.core.world.athlete('strava', id)!, past);
    this.library.restore(library, (id) => this.profile(id)!);
  }

  /** If the privacy changes, an app without `activity:read_all` gets a create event or a delete event. */
  private publishEdit(
    athleteId: string,
    before: Activity,
    after: Activity,
    updates: Record<string, string>,
  ): void {
    const wasShown = this.isShownTo(athleteId, before);
    const isShown = this.isShownTo(athleteId, after);
    if (!wasShown && !isShown) return;
    if (!wasShown) return this.publish(athleteId, after.id, 'create');
    if (!isShown) return this.publish(athleteId, after.id, 'delete');
    const told = this.tokens.scopesOf(athleteId).has('activity:read_all') ? updates : withoutPrivate(updates);
    this.publish(athleteId, after.id, 'update', told);
  }

  private publish(
    ownerId: string,
    objectId: string,
    aspect: 'create' | 'update' | 'delete',
    updates?: Record<string, string>,
  ): void {
    this.events.publish({ objectType: 'activity', aspect, objectId, ownerId, updates });
  }

  private isShownTo(athleteId: string, activity: Activity): boolean {
    const scopes = this.tokens.scopesOf(athleteId);
    return scopes.has('activity:read_all') || (scopes.has('activity:read') && !isPrivate(activity));
  }
}

/** By default the history ends at 00:00 UTC of the day of creation, so that a seed gives the same history at any hour of that day. */
function historyOf({ seed, profile, createdAtMs }: Athlete, past: Past): Activity[] {
  const { firstActivityId, endsAtMs = Math.floor(createdAtMs / DAY_MS) * DAY_MS, ...life } = past;
  const firstId = firstActivityId === undefined ? undefined : BigInt(firstActivityId);
  return createHistory({ ...life, seed, endsAtMs, athlete: profile, firstId });
}

/** The fields `title` and `type` of an event's `updates`. The caller adds `private`. Strava reports no other change. */
function updatesOf(changes: ActivityOverrides): Record<string, string> {
  const updates: Record<string, string> = {};
  if (changes.name !== undefined) updates.title = changes.name;
  if (changes.sport_type !== undefined) updates.type = changes.sport_type;
  return updates;
}

function withoutPrivate({ private: _private, ...others }: Record<string, string>): Record<string, string> {
  return others;
}
