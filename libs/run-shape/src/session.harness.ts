import { type Recording } from '#streams';
import { type ShapeFacts } from './facts.js';

/** A part of an invented session. At speed 0 the athlete stands and the watch runs. A pause leaves a gap in `time`. */
export interface Part {
  readonly seconds: number;
  readonly speed: number;
  readonly heartRate?: number;
  readonly watts?: number;
  /** Metres up for each metre forward. */
  readonly slope?: number;
  readonly isPause?: boolean;
}

interface SessionOptions {
  readonly startsAtS?: number;
  readonly without?: readonly string[];
  /** Deviation as a share of the speed. The noise is the same in every run. */
  readonly noise?: number;
}

/** A recording with a sample each second, as a device writes it. */
export function session(parts: readonly Part[], options: SessionOptions = {}): Recording {
  const { startsAtS = 0, without = [], noise = 0.02 } = options;
  const channels: Record<string, unknown[]> = {
    time: [startsAtS],
    distance: [0],
    velocity_smooth: [0],
    altitude: [100],
  };
  const hasHeart = parts.some(({ heartRate }) => heartRate !== undefined);
  const hasPower = parts.some(({ watts }) => watts !== undefined);
  if (hasHeart) channels['heartrate'] = [100];
  if (hasPower) channels['watts'] = [0];
  let time = startsAtS;
  let metres = 0;
  let height = 100;
  for (const part of parts) {
    if (part.isPause) {
      time += part.seconds;
      continue;
    }
    for (let second = 0; second < part.seconds; second++) {
      time += 1;
      const wobble = 1 + noise * (Math.sin(time / 7) + Math.sin(time / 3.1));
      const speed = part.speed * wobble;
      metres += speed;
      height += speed * (part.slope ?? 0);
      channels['time']!.push(time);
      channels['distance']!.push(Math.round(metres * 10) / 10);
      channels['velocity_smooth']!.push(Math.round(speed * 1_000) / 1_000);
      channels['altitude']!.push(Math.round(height * 10) / 10);
      if (hasHeart) channels['heartrate']!.push(part.heartRate ?? null);
      if (hasPower) channels['watts']!.push(Math.round((part.watts ?? 0) * wobble));
    }
  }
  for (const name of without) delete channels[name];
  return { channels, pointCount: channels['time']!.length };
}

/** The activity's row for these parts. */
export function factsFor(parts: readonly Part[], facts: Partial<ShapeFacts> = {}): ShapeFacts {
  const sum = (value: (part: Part) => number) => parts.reduce((total, part) => total + value(part), 0);
  return {
    sport_type: 'Run',
    distance_m: sum(({ seconds, speed, isPause }) => (isPause ? 0 : seconds * speed)),
    moving_time_s: sum(({ seconds, speed, isPause }) => (isPause || speed === 0 ? 0 : seconds)),
    elapsed_time_s: sum(({ seconds }) => seconds),
    elevation_gain_m: 0,
    ...facts,
  };
}

export function easy(minutes: number, more: Partial<Part> = {}): Part {
  return { seconds: minutes * 60, speed: 2.8, ...more };
}

/** Repetitions of one distance with slightly different speeds, as real runners have. */
export function over(metres: number, times: number, speed: number, rest: Part): Part[] {
  return Array.from({ length: times }, (_, index) => {
    const own = speed * (1 + 0.02 * Math.sin(2 * index));
    const work = { seconds: Math.round(metres / own), speed: metres / Math.round(metres / own) };
    return index < times - 1 ? [work, rest] : [work];
  }).flat();
}

/** Work and rest by turns. The last work has no rest after it. */
export function repeated(times: number, work: Part, rest: Part): Part[] {
  return Array.from({ length: times }, (_, index) => (index < times - 1 ? [work, rest] : [work])).flat();
}
