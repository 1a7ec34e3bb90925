import { type AthleteProfile, type Night } from '#training-world';
import {
  restoredRecord,
  revisedAtMs,
  type SavedDiary,
  SleepDiary,
  type SleepRecord,
  uuidOfParts,
} from '../wearables/sleep-diary.js';

/** A night at Polar. The API knows it by its date alone; the id is for the control routes. */
export interface PolarNight extends SleepRecord {
  readonly isSparse: boolean;
}

export type SavedNights = SavedDiary<PolarNight>;

/** The nights of all athletes, one per athlete and date. Naps are not part of Polar's API. */
export class NightLog {
  private readonly diary = new SleepDiary<PolarNight>();

  constructor(private readonly now: () => number) {}

  clear(): void {
    this.diary.clear();
  }

  save(): SavedNights {
    return this.diary.save();
  }

  /** The past nights must have been filled in before. */
  restore({ changed, removed }: SavedNights, profileOf: (athleteId: string) => AthleteProfile): void {
    for (const id of removed) {
      const night = this.diary.get(id);
      if (night) this.diary.remove(night);
    }
    for (const saved of changed) this.diary.put(restoredRecord(saved, profileOf(saved.athleteId)));
  }

  find(id: string): PolarNight | undefined {
    return this.diary.get(id);
  }

  /** Oldest first. */
  of(athleteId: string): PolarNight[] {
    return this.diary.of(athleteId);
  }

  fillPast(athleteId: string, nights: readonly Night[], uploadedAfterMs: number): void {
    for (const night of nights) {
      if (!night.nap) this.diary.putPast(newNight(athleteId, night, night.endMs + uploadedAfterMs, false));
    }
  }

  /** A second night of the same date replaces the first. */
  add(athleteId: string, night: Night, isSparse: boolean): PolarNight {
    const replaced = this.onDay(athleteId, night.day);
    if (replaced) this.diary.remove(replaced);
    return this.diary.put(newNight(athleteId, night, this.now(), isSparse));
  }

  revise(record: PolarNight, revision: Partial<Pick<PolarNight, 'night' | 'isSparse'>>): PolarNight {
    const updatedAtMs = revisedAtMs(record, this.now());
    return this.diary.put({ ...record, ...revision, version: record.version + 1, updatedAtMs });
  }

  remove(record: PolarNight): void {
    this.diary.remove(record);
  }

  private onDay(athleteId: string, day: string): PolarNight | undefined {
    return this.of(athleteId).find(({ night }) => night.day === day);
  }
}

function newNight(athleteId: string, night: Night, atMs: number, isSparse: boolean): PolarNight {
  return {
    id: uuidOfParts('polar', athleteId, night.id),
    athleteId,
    night,
    isSparse,
    version: 1,
    createdAtMs: atMs,
    updatedAtMs: atMs,
  };
}
