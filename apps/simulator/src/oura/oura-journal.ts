import { type AthleteProfile, type Night } from '#training-world';
import {
  restoredRecord,
  revisedAtMs,
  type SavedDiary,
  SleepDiary,
  uuidOfParts,
} from '../wearables/sleep-diary.js';
import { type DailySleep } from './daily-sleep-document.js';
import { type EventType } from './oura-facts.js';
import { dayOf, type OuraSleep } from './oura-sleep.js';

export interface Change {
  readonly athleteId: string;
  readonly eventType: EventType;
  readonly dataType: 'sleep' | 'daily_sleep';
  readonly objectId: string;
}

interface DayPage {
  readonly id: string;
  readonly version: number;
  readonly updatedAtMs: number;
  readonly sleepIds: ReadonlySet<string>;
}

export interface SavedJournal {
  readonly sleeps: SavedDiary<OuraSleep>;
  readonly days: readonly (Omit<DayPage, 'sleepIds'> & {
    readonly athleteId: string;
    readonly day: string;
    readonly sleepIds: readonly string[];
  })[];
}

/** All sleeps and daily documents. A method that changes documents returns the changes; the caller sends them as events. */
export class OuraJournal {
  private readonly sleeps = new SleepDiary<OuraSleep>();
  private readonly days = new Map<string, Map<string, DayPage>>();
  private readonly dayIds = new Map<string, { athleteId: string; day: string }>();

  /** Ids of daily documents that have changed since the past was filled in. Only these documents are saved. */
  private readonly rewritten = new Set<string>();

  constructor(private readonly now: () => number) {}

  save(): SavedJournal {
    const days = [...this.rewritten].map((id) => {
      const { athleteId, day } = this.dayIds.get(id)!;
      const page = this.pagesOf(athleteId).get(day)!;
      return { ...page, athleteId, day, sleepIds: [...page.sleepIds] };
    });
    return { sleeps: this.sleeps.save(), days };
  }

  /** Applies saved changes. The caller must fill in the past nights before. */
  restore({ sleeps, days }: SavedJournal, profileOf: (athleteId: string) => AthleteProfile): void {
    for (const id of sleeps.removed) {
      const sleep = this.sleeps.get(id);
      if (sleep) this.sleeps.remove(sleep);
    }
    for (const saved of sleeps.changed) this.sleeps.put(restoredRecord(saved, profileOf(saved.athleteId)));
    for (const { athleteId, day, sleepIds, ...page } of days) {
      this.pagesOf(athleteId).set(day, { ...page, sleepIds: new Set(sleepIds) });
      this.dayIds.set(page.id, { athleteId, day });
      this.rewritten.add(page.id);
    }
  }

  clear(): void {
    this.sleeps.clear();
    this.days.clear();
    this.dayIds.clear();
    this.rewritten.clear();
  }

  sleep(id: string): OuraSleep | undefined {
    return this.sleeps.get(id);
  }

  sleepsOf(athleteId: string): OuraSleep[] {
    return this.sleeps.of(athleteId);
  }

  count(athleteId: string): number {
    return this.sleeps.count(athleteId);
  }

  dailySleep(id: string): (DailySleep & { athleteId: string }) | undefined {
    const found = this.dayIds.get(id);
    const page = found && this.pagesOf(found.athleteId).get(found.day);
    if (!page || page.sleepIds.size === 0) return undefined;
    return { ...this.daily(found.day, page), athleteId: found.athleteId };
  }

  /** Oldest first. */
  dailySleepsOf(athleteId: string): DailySleep[] {
    const pages = [...this.pagesOf(athleteId)].filter(([, { sleepIds }]) => sleepIds.size > 0);
    pages.sort(([a], [b]) => (a < b ? -1 : 1));
    return pages.map(([day, page]) => this.daily(day, page));
  }

  /** Adds past nights, without events. */
  fill(athleteId: string, nights: readonly Night[], syncedAfterMs: number): void {
    const oldestFirst = [...nights].sort((a, b) => a.endMs - b.endMs);
    for (const night of oldestFirst) {
      const sleep = newSleep(athleteId, night, night.endMs + syncedAfterMs);
      this.sleeps.putPast(sleep);
      this.writeDay(sleep, sleep.updatedAtMs, (ids) => ids.add(sleep.id));
    }
  }

  add(
    athleteId: string,
    night: Night,
    extras: Pick<OuraSleep, 'verdict' | 'isSparse'>,
  ): [OuraSleep, Change[]] {
    const sleep = { ...newSleep(athleteId, night, this.now()), ...extras };
    return [sleep, [changeOf(sleep, 'create'), ...this.enter(sleep)]];
  }

  revise(
    sleep: OuraSleep,
    revision: Partial<Pick<OuraSleep, 'night' | 'verdict' | 'isSparse'>>,
  ): [OuraSleep, Change[]] {
    const updatedAtMs = revisedAtMs(sleep, this.now());
    const revised = { ...sleep, ...revision, version: sleep.version + 1, updatedAtMs };
    const left = dayOf(revised) === dayOf(sleep) ? [] : this.leave(sleep, updatedAtMs);
    return [revised, [changeOf(revised, 'update'), ...left, ...this.enter(revised)]];
  }

  remove(sleep: OuraSleep): Change[] {
    this.sleeps.remove(sleep);
    return [changeOf(sleep, 'delete'), ...this.leave(sleep, this.now())];
  }

  private enter(sleep: OuraSleep): Change[] {
    this.sleeps.put(sleep);
    return this.rewriteDay(sleep, sleep.updatedAtMs, (ids) => ids.add(sleep.id));
  }

  private leave(sleep: OuraSleep, atMs: number): Change[] {
    return this.rewriteDay(sleep, atMs, (ids) => ids.delete(sleep.id));
  }

  private rewriteDay(sleep: OuraSleep, atMs: number, edit: (sleepIds: Set<string>) => void): Change[] {
    const change = this.writeDay(sleep, atMs, edit);
    this.rewritten.add(change.objectId);
    return [change];
  }

  private writeDay(sleep: OuraSleep, atMs: number, edit: (sleepIds: Set<string>) => void): Change {
    const { athleteId } = sleep;
    const day = dayOf(sleep);
    const pages = this.pagesOf(athleteId);
    const page = pages.get(day);
    const sleepIds = new Set(page?.sleepIds);
    edit(sleepIds);

    const objectId = page?.id ?? uuidOfParts('oura', athleteId, 'daily_sleep', day);
    const updatedAtMs = Math.max(atMs, (page?.updatedAtMs ?? 0) + 1);
    // A day without sleeps keeps its version number. If the day gets a sleep again, its document is newer than any stored copy.
    pages.set(day, { id: objectId, version: (page?.version ?? 0) + 1, updatedAtMs, sleepIds });
    this.dayIds.set(objectId, { athleteId, day });
    return { athleteId, eventType: dayEvent(page, sleepIds), dataType: 'daily_sleep', objectId };
  }

  private daily(day: string, { sleepIds, ...page }: DayPage): DailySleep {
    return { ...page, day, sleeps: [...sleepIds].map((id) => this.sleeps.get(id)!) };
  }

  private pagesOf(athleteId: string): Map<string, DayPage> {
    let pages = this.days.get(athleteId);
    if (!pages) {
      pages = new Map();
      this.days.set(athleteId, pages);
    }
    return pages;
  }
}

function newSleep(athleteId: string, night: Night, syncedAtMs: number): OuraSleep {
  return {
    id: uuidOfParts('oura', athleteId, night.id),
    athleteId,
    night,
    isSparse: false,
    version: 1,
    createdAtMs: syncedAtMs,
    updatedAtMs: syncedAtMs,
  };
}

function changeOf(sleep: OuraSleep, eventType: EventType): Change {
  return { athleteId: sleep.athleteId, eventType, dataType: 'sleep', objectId: sleep.id };
}

function dayEvent(before: DayPage | undefined, sleepIds: ReadonlySet<string>): EventType {
  if (sleepIds.size === 0) return 'delete';
  return before?.sleepIds.size ? 'update' : 'create';
}
