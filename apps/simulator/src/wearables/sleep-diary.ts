import { createHash } from 'node:crypto';
import { type AthleteProfile, type Night, uuidFromHex } from '#training-world';

/** A vendor's record of a night. A revision keeps the id, and raises the version and `updatedAtMs`. */
export interface SleepRecord {
  readonly id: string;
  readonly athleteId: string;
  readonly night: Night;
  readonly version: number;
  readonly createdAtMs: number;
  readonly updatedAtMs: number;
}

/** A saved record. It contains only the athlete's id. */
type SavedRecord<Entry extends SleepRecord> = Omit<Entry, 'night'> & {
  readonly night: Omit<Night, 'athlete'>;
};

/** The differences from the past nights. A restart derives the past nights from the seed again. */
export interface SavedDiary<Entry extends SleepRecord> {
  readonly changed: readonly SavedRecord<Entry>[];
  readonly removed: readonly string[];
}

/**
 * The sleep records of one vendor, by id and by athlete. Only changed and removed records are saved, because past nights
 * follow from the seed.
 */
export class SleepDiary<Entry extends SleepRecord> {
  private readonly byId = new Map<string, Entry>();
  private readonly byAthlete = new Map<string, Map<string, Entry>>();

  /** Ids in the order of the last change. */
  private readonly changed = new Set<string>();
  private readonly removed = new Set<string>();

  save(): SavedDiary<Entry> {
    const changed = [...this.changed].map((id) => savedRecord(this.byId.get(id)!));
    return { changed, removed: [...this.removed] };
  }

  /** Adds a past night. A past night is not saved, because it follows from the seed. */
  putPast(entry: Entry): void {
    this.byId.set(entry.id, entry);
    this.pagesOf(entry.athleteId).set(entry.id, entry);
  }

  put(entry: Entry): Entry {
    this.changed.delete(entry.id);
    this.changed.add(entry.id);
    this.putPast(entry);
    return entry;
  }
  remove(entry: Entry): void {
    this.changed.delete(entry.id);
    this.removed.add(entry.id);
    this.byId.delete(entry.id);
    this.pagesOf(entry.athleteId).delete(entry.id);
  }

  clear(): void {
    this.byId.clear();
    this.byAthlete.clear();
    this.changed.clear();
    this.removed.clear();
  }

  get(id: string): Entry | undefined {
    return this.byId.get(id);
  }

  count(athleteId: string): number {
    return this.byAthlete.get(athleteId)?.size ?? 0;
  }

  /** Oldest first. */
  of(athleteId: string): Entry[] {
    const entries = [...(this.byAthlete.get(athleteId)?.values() ?? [])];
    return entries.sort((a, b) => a.night.startMs - b.night.startMs);
  }

  private pagesOf(athleteId: string): Map<string, Entry> {
    let pages = this.byAthlete.get(athleteId);
    if (!pages) {
      pages = new Map();
      this.byAthlete.set(athleteId, pages);
    }
    return pages;
  }
}

function savedRecord<Entry extends SleepRecord>({ night, ...entry }: Entry): SavedRecord<Entry> {
  const { athlete: _athlete, ...own } = night;
  return { ...entry, night: own };
}

export function restoredRecord<Entry extends SleepRecord>(
  { night, ...entry }: SavedRecord<Entry>,
  athlete: AthleteProfile,
): Entry {
  return { ...entry, night: { ...night, athlete } } as unknown as Entry;
}

/** The time of a new revision, at least one millisecond after the last one. So two revisions never have the same time. */
export function revisedAtMs(entry: SleepRecord, nowMs: number): number {
  return Math.max(nowMs, entry.updatedAtMs + 1);
}

/** The same parts give the same UUID on every machine. So the ids follow from the seed too. */
export function uuidOfParts(...parts: readonly (string | number)[]): string {
  return uuidFromHex(createHash('sha256').update(parts.join('/')).digest('hex'));
}
