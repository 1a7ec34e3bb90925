import { mix } from './random.js';

/** A version 4 UUID that is always the same for a seed. */
export function uuidOf(seed: number): string {
  const hex = [1, 2, 3, 4].map((part) => mix(seed, part, 0x0001d).toString(16).padStart(8, '0')).join('');
  const variant = '89ab'[Number.parseInt(hex.charAt(16), 16) & 3];
  return `${hex.slice(0, 8)}-${hex.slice(8, 12)}-4${hex.slice(13, 16)}-${variant}${hex.slice(17, 20)}-${hex.slice(20)}`;
}
