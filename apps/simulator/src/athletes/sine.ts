import { floor, sin } from './maths.js';

const ENTRIES = 4096;
const MASK = ENTRIES - 1;
const PER_RADIAN = ENTRIES / (2 * Math.PI);
const TABLE = Float64Array.from({ length: ENTRIES + 1 }, (_, index) => sin(index / PER_RADIAN));

/** From a table, good to 3e-7, which is 20 µm of hill. Courses and heights are made of little else. */
export function sine(angle: number): number {
  const at = angle * PER_RADIAN;
  const whole = floor(at);
  const from = TABLE[whole & MASK]!;
  return from + (TABLE[(whole & MASK) + 1]! - from) * (at - whole);
}

export function cosine(angle: number): number {
  return sine(angle + Math.PI / 2);
}
