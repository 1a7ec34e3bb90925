import { Inject, Injectable } from '@nestjs/common';
import { LRUCache } from 'lru-cache';
import { TIME_SCALE, type TimeScale } from '#platform';

const MOST_AT_ONCE = 2;
const MOST_A_WINDOW = 20;
const WINDOW_MS = 15 * 60_000;
const REMEMBERED = 50_000;

/** What one athlete's impatience may take of a window that all athletes share: a page full of charts must not empty it. */
@Injectable()
export class PromptShare {
  private readonly taken: LRUCache<string, { calls: number }>;
  private readonly underWay = new Map<string, number>();

  constructor(@Inject(TIME_SCALE) scale: TimeScale) {
    this.taken = new LRUCache({ max: REMEMBERED, ttl: Math.ceil(scale.wait(WINDOW_MS)) });
  }

  /** `busy`: when one of theirs has ended; `spent`: not in this window, the backfill will come to it. */
  take(athleteId: string): 'taken' | 'busy' | 'spent' {
    const underWay = this.underWay.get(athleteId) ?? 0;
    const taken = this.taken.get(athleteId) ?? { calls: 0 };
    if (taken.calls >= MOST_A_WINDOW) return 'spent';
    if (underWay >= MOST_AT_ONCE) return 'busy';
    this.underWay.set(athleteId, underWay + 1);
    if (taken.calls === 0) this.taken.set(athleteId, taken);
    taken.calls += 1;
    return 'taken';
  }

  end(athleteId: string): void {
    const left = (this.underWay.get(athleteId) ?? 1) - 1;
    if (left > 0) this.underWay.set(athleteId, left);
    else this.underWay.delete(athleteId);
  }
}
