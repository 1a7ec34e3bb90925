import { nearest } from './maths.js';

/** To a number of decimals, and never -0. */
export function round(value: number, decimals: number): number {
  const scale = SCALES[decimals] ?? 10 ** decimals;
  return nearest(value * scale) / scale + 0;
}

const SCALES = [1, 10, 100, 1000, 1e4, 1e5, 1e6];
