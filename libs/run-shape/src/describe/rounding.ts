import { round } from '../signal/maths.js';

export function rounded(value: number, decimals: number): number {
  const unit = 10 ** decimals;
  // Adding 0 turns -0 into 0: they print alike and must hash alike.
  return round(value * unit) / unit + 0;
}
