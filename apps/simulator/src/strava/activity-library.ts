import { type Activity, type ActivityOverrides, withOverrides } from '#training-world';
import { SummaryStore } from './summary-store.js';

/** A saved activity that is not part of a history. It contains only the athlete's id; the place is the athlete's home. */
type SavedActivity = Omit<Activity, 'athlete' | 'place'> & { readonly athleteId: string };

/** The differences from the histories. A restart derives the histories from the seeds again. */
export interface SavedLibrary {
  readonly made: readonly { readonly activity: SavedActivity; readonly streamsExistAtMs: number }[];
  readonly edited: readonly (readonly [string, ActivityOverrides])[];
  readonly removed: readonly string[];
  readonly highestId: string;
}

/** All activities, by id and by athlete (newest first). Only the differences from the derived histories are saved. */
export class ActivityLibrary {
  private readonly byId = new Map<string, Activity>();
  private readonly summaries = new SummaryStore();
  private readonly timelines = new Map<string, Activity[]>();
  /** Contains only activities that are not part of a history. The streams of a history's activities always exist. */
  private readonly streamsExistAtMs = new Map<string, number>();
  /** Ids of edited and of removed activities of a history. Other activities are saved as a whole, with their edits. */
  private readonly edited = new Set<string>();
  private readonly removed = new Set<string>();
  /** Number of changes of each activity and of each athlete's list. So a fetch after a change is no duplicate. */
  private readonly revisions = new Map<string, number>();
  private highestId = 0n;

  clear(): void {
    this.byId.clear();
    this.summaries.clear();
    this.timelines.clear();
    this.streamsExistAtMs.clear();
    this.edited.clear();
    this.removed.clear();
    this.revisions.clear();
    this.highestId = 0n;
  }

  /** If an id is taken, stores nothing and returns false. */
  addHistory(athleteId: string, activities: readonly Activity[]): boolean {
    if (activities.some(({ id }) => this.byId.has(id) || this.removed.has(id))) return false;
    for (const activity of activities) this.remember(activity);
    this.timelines.set(athleteId, activities.toSorted(newestFirst));
    return true;
  }

  save(): SavedLibrary {
    return {
      made: [...this.streamsExistAtMs].map(([id, streamsExistAtMs]) => ({
        activity: savedActivity(this.byId.get(id)!),
        streamsExistAtMs,
      })),
      edited: [...this.edited].map((id) => [id, this.byId.get(id)!.overrides!]),
      removed: [...this.removed],
      highestId: String(this.highestId),
    };
  }

  /** Applies saved differences. The caller must add the histories before. */
  restore(saved: SavedLibrary, athleteOf: (id: string) => Activity['athlete']): void {
    for (const id of saved.removed) this.remove(this.byId.get(id)!.athlete.id, id);
    for (const [id, overrides] of saved.edited) {
      const activity = this.byId.get(id)!;
      this.replace(activity.athlete.id, withOverrides(activity, overrides));
    }
    for (const { activity, streamsExistAtMs } of saved.made) {
      const { athleteId, ...own } = activity;
      const athlete = athleteOf(athleteId);
      this.add(athleteId, { ...own, athlete, place: athlete.place }, streamsExistAtMs);
    }
    this.highestId = BigInt(saved.highestId);
  }

  add(athleteId: string, activity: Activity, streamsExistAtMs: number): void {
    this.remember(activity);
    this.streamsExistAtMs.set(activity.id, streamsExistAtMs);
    const timeline = this.timelineOf(athleteId);
    timeline.splice(
      firstIndex(timeline, (other) => newestFirst(other, activity) >= 0),
      0,
      activity,
    );
    this.revise(athleteId);
  }

  replace(athleteId: string, activity: Activity): void {
    if (!this.streamsExistAtMs.has(activity.id)) this.edited.add(activity.id);
    this.byId.set(activity.id, activity);
    this.summaries.put(activity);
    const timeline = this.timelineOf(athleteId);
    timeline[this.indexOf(timeline, activity.id)] = activity;
    this.revise(athleteId);
    this.revise(activity.id);
  }

  remove(athleteId: string, id: string): void {
    const timeline = this.timelineOf(athleteId);
    timeline.splice(this.indexOf(timeline, id), 1);
    this.byId.delete(id);
    this.summaries.remove(id);
    if (!this.streamsExistAtMs.delete(id)) this.removed.add(id);
    this.edited.delete(id);
    this.revise(athleteId);
  }

  find(id: string): Activity | undefined {
    return this.byId.get(id);
  }

  newestFirst(athleteId: string): readonly Activity[] {
    return this.timelines.get(athleteId) ?? [];
  }

  /** The body of a list page. */
  summariesJson(activities: readonly Activity[]): Buffer {
    return this.summaries.json(activities);
  }

  /** The moment from which the streams can be fetched. Null for a manual activity, which has no streams. */
  streamsFromMs(activity: Activity): number | null {
    return activity.manual ? null : (this.streamsExistAtMs.get(activity.id) ?? 0);
  }

  revisionOf(key: string): number {
    return this.revisions.get(key) ?? 0;
  }

  freeId(): bigint {
    return this.highestId + 1n;
  }

  private remember(activity: Activity): void {
    this.byId.set(activity.id, activity);
    this.summaries.put(activity);
    const id = BigInt(activity.id);
    if (id > this.highestId) this.highestId = id;
  }

  private timelineOf(athleteId: string): Activity[] {
    const timeline = this.timelines.get(athleteId) ?? [];
    this.timelines.set(athleteId, timeline);
    return timeline;
  }

  private indexOf(timeline: readonly Activity[], id: string): number {
    return timeline.findIndex((activity) => activity.id === id);
  }

  private revise(key: string): void {
    this.revisions.set(key, this.revisionOf(key) + 1);
  }
}

function savedActivity({ athlete, place: _place, ...own }: Activity): SavedActivity {
  return { ...own, athleteId: athlete.id };
}

function newestFirst(a: Activity, b: Activity): number {
  return b.startMs - a.startMs || (BigInt(b.id) > BigInt(a.id) ? 1 : -1);
}

/** Index of the first item for which `isPast` is true, by binary search. All items after this one must be past too. */
export function firstIndex<Item>(items: readonly Item[], isPast: (item: Item) => boolean): number {
  let low = 0;
  let high = items.length;
  while (low < high) {
    const middle = (low + high) >> 1;
    if (isPast(items[middle]!)) high = middle;
    else low = middle + 1;
  }
  return low;
}
