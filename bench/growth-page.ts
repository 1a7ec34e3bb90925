import { type Series, plot } from './plot.js';
import { table } from './markdown.js';

/** The times of one statement, route or gauge over the sizes of the database. */
export interface Curve {
  readonly group: string;
  readonly what: string;
  /** The median of each size, in ms. */
  readonly ms: readonly number[];
}

/** The raw part of bench/results/growth.json. */
export interface GrowthRaw {
  readonly about: string;
  readonly activities: readonly number[];
  readonly athletes: readonly number[];
  readonly changes: readonly number[];
  readonly curves: readonly Curve[];
}

const MOST_RATIO = 2;
// A difference below this is noise of the machine.
const FLOOR_MS = 1;

/** How much more the largest size costs than the second smallest: below that, a table is a few pages and reading all of it is the fastest way. */
export function growthOf({ ms }: Curve): { readonly ratio: number; readonly isFlat: boolean } {
  const [before = NaN, after = NaN] = [ms[Math.min(1, ms.length - 2)], ms.at(-1)];
  const ratio = after / before;
  return { ratio, isFlat: ratio <= MOST_RATIO || after <= FLOOR_MS };
}

export function growthTable({ activities, athletes, changes, curves }: GrowthRaw): string {
  const sizes = activities.map(
    (count, index) => `${short(count)} (${short(athletes[index] ?? 0)}, ${short(changes[index] ?? 0)})`,
  );
  const rows = curves.map((curve) => {
    const { ratio, isFlat } = growthOf(curve);
    const times = curve.ms.map((ms) => (ms < 10 ? ms.toFixed(2) : ms.toFixed(0)));
    return [curve.group, curve.what, ...times, isFlat ? `${ratio.toFixed(1)}×` : `**${ratio.toFixed(1)}×**`];
  });
  return table(['', 'activities (athletes, changes)', ...sizes, 'growth'], rows);
}

/** One panel for each group of curves. */
export function growthPlot({ activities, curves }: GrowthRaw): string {
  const groups = [...new Set(curves.map(({ group }) => group))];
  const panels = groups.map((group) => ({
    title: group,
    series: curves
      .filter((curve) => curve.group === group)
      .map(({ what, ms }): Series => ({ name: what, ys: ms })),
  }));
  return plot({ panels, xs: activities, xLabel: 'activities', yLabel: 'ms', xText: short });
}

/** 10³ as 1 k. */
function short(count: number): string {
  if (count >= 1e6) return `${count / 1e6} M`;
  return count >= 1e3 ? `${count / 1e3} k` : `${count}`;
}
