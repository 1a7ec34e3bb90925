import { type Stretch } from './stretches.js';

/** The easy and the hard stretches of a session, separated by a level. */
export interface Contrast {
  /** Stretches at this level or above are hard. */
  readonly hardFrom: number;
  readonly easy: number;
  readonly hard: number;
  /** Share of the easy stretches in the time in motion. */
  readonly easyShare: number;
}

/**
 * Divides the stretches into an easy and a hard group, so that the variance within the groups is least (Otsu's method, weighted
 * by time). Stops belong to no group, because everything is hard compared with a stop. Undefined if there is only one level.
 */
export function contrastOf(stretches: readonly Stretch[]): Contrast | undefined {
  const moving = stretches.filter(({ isStop }) => !isStop).sort((a, b) => a.level - b.level);
  const total = totalOf(moving);
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

function totalOf(stretches: readonly Stretch[]): { weight: number; weighted: number } {
  let weight = 0;
  let weighted = 0;
  for (const { level, from, to } of stretches) {
    weight += to - from;
    weighted += level * (to - from);
  }
  return { weight, weighted };
}
