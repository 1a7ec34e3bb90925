import { exp, floor, imul, min, sqrt } from './maths.js';

/** Scrambles three 32-bit words into one; every input bit reaches every output bit. */
export function mix(a: number, b = 0, c = 0): number {
  let h = scramble(a ^ 0x9e3779b9);
  h = scramble(h ^ imul(b, 0x85ebca6b));
  return scramble(h ^ imul(c, 0xc2b2ae35));
}

/** Hashes any finite number to a 32-bit seed. The fraction and the bits above 32 count as well. */
export function seed32(seed: number): number {
  const whole = floor(seed);
  const high = floor(whole / 2 ** 32);
  const fraction = (seed - whole) * 2 ** 32;
  return mix(whole >>> 0, high >>> 0, fraction >>> 0);
}

export function hashText(text: string): number {
  let h = 0x811c9dc5;
  for (let i = 0; i < text.length; i++) h = imul(h ^ text.charCodeAt(i), 0x01000193);
  return scramble(h);
}

/** A random number in [0, 1) that depends only on the three arguments. */
export function fractionOf(seed: number, purpose: string, index = 0): number {
  return mix(seed, hashText(purpose), index) / 2 ** 32;
}

export function pickOf<T>(items: readonly T[], fraction: number): T {
  return items[min(items.length - 1, floor(fraction * items.length))] as T;
}

export function randomFor(seed: number, purpose: string, index = 0): Random {
  return new Random(mix(seed, hashText(purpose), index));
}

/** The generator sfc32. It has 128 bits of state, passes the usual statistical tests and takes a few nanoseconds a number. */
export class Random {
  private a: number;
  private b: number;
  private c: number;
  private counter = 1;

  constructor(seed: number) {
    this.a = mix(seed, 1) | 0;
    this.b = mix(seed, 2) | 0;
    this.c = mix(seed, 3) | 0;
    for (let i = 0; i < 8; i++) this.next();
  }

  /** A number in [0, 1). */
  next(): number {
    const t = (this.a + this.b + this.counter++) | 0;
    this.a = this.b ^ (this.b >>> 9);
    this.b = (this.c + (this.c << 3)) | 0;
    this.c = (this.c << 21) | (this.c >>> 11);
    this.c = (this.c + t) | 0;
    return (t >>> 0) / 2 ** 32;
  }

  between(low: number, high: number): number {
    return low + (high - low) * this.next();
  }

  /** A whole number from `low` to `high`, including both. */
  int(low: number, high: number): number {
    return low + floor((high - low + 1) * this.next());
  }

  chance(probability: number): boolean {
    return this.next() < probability;
  }

  pick<T>(items: readonly T[]): T {
    return pickOf(items, this.next());
  }

  /** Mean 0, deviation 1, never beyond 2.5. The distribution is triangular; this is close enough to normal for sensor noise. */
  noise(): number {
    return (this.next() + this.next() - 1) * 2.449;
  }
}

/** Correlated noise: neighbours within `memory` samples resemble each other. */
export class DriftingNoise {
  private value: number;
  private readonly keep: number;
  private readonly renew: number;

  constructor(
    private readonly random: Random,
    memory: number,
    private readonly deviation: number,
  ) {
    this.keep = exp(-1 / memory);
    this.renew = sqrt(1 - this.keep * this.keep);
    this.value = random.noise();
  }

  next(): number {
    this.value = this.value * this.keep + this.random.noise() * this.renew;
    return this.value * this.deviation;
  }
}

function scramble(x: number): number {
  x ^= x >>> 16;
  x = imul(x, 0x7feb352d);
  x ^= x >>> 15;
  x = imul(x, 0x846ca68b);
  return (x ^ (x >>> 16)) >>> 0;
}

/** The same seed gives the same UUID on every machine. */
export function uuidOf(seed: number): string {
  return uuidFromHex(
    [1, 2, 3, 4].map((part) => mix(seed, part, 0x0001d).toString(16).padStart(8, '0')).join(''),
  );
}

/** Formats 32 hex digits as a version 4 UUID; the digits of version and variant are overwritten. */
export function uuidFromHex(hex: string): string {
  const variant = '89ab'[Number.parseInt(hex.charAt(16), 16) & 3];
  return `${hex.slice(0, 8)}-${hex.slice(8, 12)}-4${hex.slice(13, 16)}-${variant}${hex.slice(17, 20)}-${hex.slice(20, 32)}`;
}
