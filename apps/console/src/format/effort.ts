import { distance, pace, speed, type Units } from './units.js';

/** How a sport names its speed: runners by pace, swimmers by the pace of a hundred, all others by speed. */
export type SpeedKind = 'pace' | 'swim' | 'speed';

const SWUM: Record<Units, readonly [metres: number, word: string]> = {
  km: [100, '100 m'],
  mi: [91.44, '100 yd'],
};

export function speedKindOf(sport: string): SpeedKind {
  if (/swim/i.test(sport)) return 'swim';
  return /run|walk|hik|jog/i.test(sport) ? 'pace' : 'speed';
}

/** Metres per second as people of this sport say it: `4:35 /km`, `1:52 /100 m`, `31.4 km/h`. */
export function effort(metresPerSecond: number | null | undefined, kind: SpeedKind, units: Units): string {
  if (kind === 'speed') return speed(metresPerSecond, units);
  if (kind === 'pace') return pace(metresPerSecond, units);
  if (!metresPerSecond || metresPerSecond <= 0) return '–';
  const [metres, word] = SWUM[units];
  const seconds = Math.round(metres / metresPerSecond);
  return `${Math.floor(seconds / 60)}:${String(seconds % 60).padStart(2, '0')} /${word}`;
}

/** A distance; pools are counted in metres or yards. */
export function covered(metres: number | null | undefined, kind: SpeedKind, units: Units): string {
  if (kind !== 'swim' || metres === null || metres === undefined) return distance(metres, units);
  const value = units === 'km' ? metres : metres / 0.9144;
  return `${Math.round(value).toLocaleString('en')} ${units === 'km' ? 'm' : 'yd'}`;
}

/** The mean speed; null if nothing was covered, as in the gym. */
export function meanSpeed(metres: number | null, seconds: number | null): number | null {
  return metres && seconds && seconds > 0 ? metres / seconds : null;
}

const ROUND_SECONDS = [5, 15, 30, 60, 120, 300];
const MOST_TICKS = 5;

/** Speeds between `min` and `max` whose pace is round, fastest first to last; for the axis of a chart of paces. */
export function roundPaces(min: number, max: number, metres: number): number[] {
  if (max <= 0) return [];
  const fastest = metres / max;
  // Near standing, the pace grows without end; three times the fastest is a quarter of the chart's height from the bottom.
  const slowest = Math.min(metres / Math.max(min, max / 20), fastest * 3);
  const step = ROUND_SECONDS.find((seconds) => (slowest - fastest) / seconds <= MOST_TICKS * 2) ?? 600;
  const apart = (max - min) / MOST_TICKS;
  const speeds: number[] = [];
  for (let seconds = Math.ceil(fastest / step) * step; seconds <= slowest; seconds += step) {
    const speed = metres / seconds;
    const last = speeds.at(-1);
    if (last === undefined || last - speed >= apart) speeds.push(speed);
  }
  return speeds.reverse();
}

const ROUND_SPEEDS = [1, 2, 5, 10, 20, 50];

/** Speeds in metres per second that are round in km/h or mph, between `min` and `max`. */
export function roundSpeeds(min: number, max: number, units: Units): number[] {
  const unit = (units === 'km' ? 1000 : 1609.344) / 3600;
  const step = (ROUND_SPEEDS.find((size) => (max - min) / unit / size <= MOST_TICKS) ?? 100) * unit;
  const first = Math.ceil(min / step);
  return Array.from({ length: Math.floor(max / step) - first + 1 }, (_, index) => (first + index) * step);
}
