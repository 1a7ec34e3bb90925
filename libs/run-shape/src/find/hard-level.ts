import { type Stretch } from './stretches.js';

/** Two groups of stretches: what is easy and what is hard on this day. */
export interface Contrast {
  /** Stretches at this level or above are hard. */
  readonly hardFrom: number;
  readonly easy: number;
  readonly hard: number;
  /** Of the time in motion. */
  readonly easyShare: number;
}

/**
 * The cut that leaves the least variance within either group (Otsu's), by time spent. Standing belongs to neither: next
 * to it everything would be hard. Undefined where there is but one level.
 */
export function contrastOf(stretches: readonly Stretch[]): Contrast | undefined {
  const moving = stretches.filter(({ isStop }) => !isStop).sort((a, b) => a.level - b.level);
  const total = weigh(moving);
  let found: Contrast | undefined;
  let most = 0;
  let below = 0;
  let belowWeighted = 0;
  for (let i = 1; i < moving.length; i++) {
    const { level, from, to } = moving[i - 1]!;
    below += to - from;
    belowWeighted += level * (to - from);
    const next = moving[i]!.level;
    if (next <= level) continue;
    const easy = belowWeighted / below;
    const above = total.weight - below;
    const hard = (total.weighted - belowWeighted) / above;
    const between = below * above * (hard - easy) ** 2;
    if (between <= most) continue;
    most = between;
    found = { hardFrom: (level + next) / 2, easy, hard, easyShare: below / total.weight };
  }
  return found;
}

function weigh(stretches: readonly Stretch[]): { weight: number; weighted: number } {
  let weight = 0;
  let weighted = 0;
  for (const { level, from, to } of stretches) {
    weight += to - from;
    weighted += level * (to - from);
  }
  return { weight, weighted };
}
