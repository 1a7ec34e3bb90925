import { type AthleteProfile, type Night } from '#training-world';
import {
  restoredRecord,
  revisedAtMs,
  type SavedDiary,
  SleepDiary,
  type SleepRecord,
  uuidOfParts,
} from '../wearables/sleep-diary.js';

export type ScoreState = 'SCORED' | 'PENDING_SCORE' | 'UNSCORABLE';

export interface WhoopSleep extends SleepRecord {
  readonly cycleId: number;
  readonly scoreState: ScoreState;
  readonly isSparse: boolean;
}

const FIRST_CYCLE_ID = 93_845;

export interface SavedJournal {
  readonly sleeps: SavedDiary<WhoopSleep>;
  /** The first cycle of each athlete's past. */
  readonly firstCycleIds: readonly (readonly [string, number])[];
  readonly nextCycleId: number;
}

/** All sleeps and their cycles. A main sleep opens a cycle. A nap belongs to the open cycle. */
export class WhoopJournal {
  private readonly sleeps = new SleepDiary<WhoopSleep>();
  private readonly mainSleeps = new Map<number, string>();
  private readonly firstCycleIds = new Map<string, number>();
  private nextCycleId = FIRST_CYCLE_ID;

  constructor(private readonly now: () => number) {}

  clear(): void {
    this.sleeps.clear();
    this.mainSleeps.clear();
    this.firstCycleIds.clear();
    this.nextCycleId = FIRST_CYCLE_ID;
  }

  save(): SavedJournal {
    const { nextCycleId } = this;
    return { sleeps: this.sleeps.save(), firstCycleIds: [...this.firstCycleIds], nextCycleId };
  }

  restore(
    { sleeps, firstCycleIds, nextCycleId }: SavedJournal,
    fillPast: (athleteId: string) => void,
    profileOf: (athleteId: string) => AthleteProfile,
  ): void {
    for (const [athleteId, cycleId] of firstCycleIds) {
      this.nextCycleId = cycleId;
      fillPast(athleteId);
    }
    for (const id of sleeps.removed) {
      const sleep = this.sleep(id);
      if (sleep) this.remove(sleep);
    }
    for (const saved of sleeps.changed) this.put(restoredRecord(saved, profileOf(saved.athleteId)));
    this.nextCycleId = nextCycleId;
  }

  sleep(id: string): WhoopSleep | undefined {
    return this.sleeps.get(id);
  }

  /** The main sleep that opened a cycle. */
  sleepOfCycle(cycleId: number): WhoopSleep | undefined {
    return this.sleeps.get(this.mainSleeps.get(cycleId) ?? '');
  }

  /** Newest first, as in the lists. */
  sleepsOf(athleteId: string): WhoopSleep[] {
    return this.sleeps.of(athleteId).reverse();
  }

  count(athleteId: string): number {
    return this.sleeps.count(athleteId);
  }

  /** Adds past nights, without events. */
  fill(athleteId: string, nights: readonly Night[], scoredAfterMs: number): void {
    const oldestFirst = [...nights].sort((a, b) => a.startMs - b.startMs);
    let openCycleId: number | undefined;
    this.firstCycleIds.set(athleteId, this.nextCycleId);
    for (const night of oldestFirst) {
      openCycleId = this.cycleFor(night, openCycleId);
      const scoredAtMs = night.endMs + scoredAfterMs;
      const scoreState = night.scored ? 'SCORED' : 'UNSCORABLE';
      const sleep = { ...newSleep(athleteId, night, openCycleId, scoredAtMs), scoreState } as const;
      this.enterCycle(sleep);
      this.sleeps.putPast(sleep);
    }
  }

  add(athleteId: string, night: Night, scoreState: ScoreState, isSparse: boolean): WhoopSleep {
    const cycleId = this.cycleFor(night, this.openCycle(athleteId, night.startMs));
    return this.put({ ...newSleep(athleteId, night, cycleId, this.now()), scoreState, isSparse });
  }

  revise(
    sleep: WhoopSleep,
    revision: Partial<Pick<WhoopSleep, 'night' | 'scoreState' | 'isSparse'>>,
  ): WhoopSleep {
    const updatedAtMs = revisedAtMs(sleep, this.now());
    return this.put({ ...sleep, ...revision, version: sleep.version + 1, updatedAtMs });
  }

  remove(sleep: WhoopSleep): void {
    this.sleeps.remove(sleep);
    this.leaveCycle(sleep);
  }

  private put(sleep: WhoopSleep): WhoopSleep {
    this.leaveCycle(sleep);
    this.enterCycle(sleep);
    return this.sleeps.put(sleep);
  }

  private enterCycle({ cycleId, id, night }: WhoopSleep): void {
    if (!night.nap) this.mainSleeps.set(cycleId, id);
  }

  private leaveCycle({ cycleId, id }: WhoopSleep): void {
    if (this.mainSleeps.get(cycleId) === id) this.mainSleeps.delete(cycleId);
  }

  private cycleFor({ nap }: Night, openCycleId: number | undefined): number {
    return (nap ? openCycleId : undefined) ?? this.nextCycleId++;
  }

  private openCycle(athleteId: string, atMs: number): number | undefined {
    return this.sleepsOf(athleteId).find(({ night }) => !night.nap && night.startMs <= atMs)?.cycleId;
  }
}

function newSleep(athleteId: string, night: Night, cycleId: number, atMs: number): WhoopSleep {
  return {
    id: uuidOfParts('whoop', athleteId, night.id),
    athleteId,
    night,
    cycleId,
    scoreState: 'PENDING_SCORE',
    isSparse: false,
    version: 1,
    createdAtMs: atMs,
    updatedAtMs: atMs,
  };
}
