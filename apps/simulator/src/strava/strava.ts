import {
  type Activity,
  type ActivityOverrides,
  type AthleteProfile,
  createHistory,
  withOverrides,
} from '../athletes/index.js';
import { type Athlete, type Core, type TokenPair, TokenStore } from '../core/index.js';
import { ActivityLibrary, type SavedLibrary } from './activity-library.js';
import { Events } from './events.js';
import { STRAVA_TOKENS } from './strava-facts.js';
import { Subscriptions } from './subscriptions.js';
import { isPrivate } from './visibility.js';

const DAY_MS = 86_400_000;

/** Of what life an athlete looks back; with the seed and the day of creation it gives the same history ever again. */
interface Past {
  readonly count: number;
  readonly manualShare?: number;
  readonly firstActivityId?: string;
}

export interface NewAthlete extends Past {
  readonly id?: string;
  readonly seed?: number;
}

interface SavedActivities {
  readonly pasts: readonly (readonly [string, Past])[];
  readonly library: SavedLibrary;
}

/** Strava's memory, and what happens to it: every change that an app is told of goes through here. */
export class Strava {
  readonly tokens: TokenStore;
  readonly library = new ActivityLibrary();
  readonly subscriptions: Subscriptions;
  private readonly events: Events;
  private readonly pasts = new Map<string, Past>();

  constructor(readonly core: Core) {
    const graceSeconds = core.options.refreshGraceSeconds;
    this.tokens = new TokenStore(core.clock, { ...STRAVA_TOKENS, graceSeconds });
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
    // Equal seeds ask for equal ids; the second athlete gets the next free ones.
    if (!this.live(athlete, past)) {
      this.live(athlete, { ...past, firstActivityId: String(this.library.freeId()) });
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

  /** New apps may connect few athletes; a fault or the configured capacity closes the door to others. */
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
    this.publishEdit(athleteId, activity, edited, updatesOf(changes));
    return edited;
  }

  remove(activity: Activity): void {
    const athleteId = activity.athlete.id;
    this.library.remove(athleteId, activity.id);
    if (this.isShownTo(athleteId, activity)) this.publish(athleteId, activity.id, 'delete');
  }

  /** All grants end; the app hears of it as an `update` of the athlete. */
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

  /** False, and nothing lived, when one of the ids is taken. */
  private live(athlete: Athlete, past: Past): boolean {
    const isStored = this.library.addHistory(athlete.id, historyOf(athlete, past));
    if (isStored) this.pasts.set(athlete.id, past);
    return isStored;
  }

  private restoreActivities({ pasts, library }: SavedActivities): void {
    for (const [id, past] of pasts) this.live(this.core.world.athlete('strava', id)!, past);
    this.library.restore(library, (id) => this.profile(id)!);
  }

  /** An app without `activity:read_all` sees an activity appear or vanish when its privacy changes. */
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

/** It ends with the day before, so that a seed gives the same athlete all day long. */
function historyOf({ seed, profile, createdAtMs }: Athlete, past: Past): Activity[] {
  const { count, manualShare, firstActivityId } = past;
  const endsAtMs = Math.floor(createdAtMs / DAY_MS) * DAY_MS;
  const firstId = firstActivityId === undefined ? undefined : BigInt(firstActivityId);
  return createHistory({ seed, count, endsAtMs, manualShare, athlete: profile, firstId });
}

/** Events name only three kinds of change; others arrive with empty `updates`. */
function updatesOf(changes: ActivityOverrides): Record<string, string> {
  const updates: Record<string, string> = {};
  if (changes.name !== undefined) updates.title = changes.name;
  if (changes.sport_type !== undefined) updates.type = changes.sport_type;
  if (changes.private !== undefined) updates.private = String(changes.private);
  return updates;
}

function withoutPrivate({ private: _private, ...others }: Record<string, string>): Record<string, string> {
  return others;
}
