import { exp, floor, imul, min, sqrt } from './maths.js';

/** Scrambles three 32-bit words into one; every input bit reaches every output bit. */
export function mix(a: number, b = 0, c = 0): number {
  let h = scramble(a ^ 0x9e3779b9);
  h = scramble(h ^ imul(b, 0x85ebca6b));
  return scramble(h ^ imul(c, 0xc2b2ae35));
}

/** Any finite number as a 32-bit seed; numbers beyond 32 bit and fractions stay distinct. */
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

/** One draw in [0, 1) that depends on nothing but its three names. */
export function fractionOf(seed: number, purpose: string, index = 0): number {
  return mix(seed, hashText(purpose), index) / 2 ** 32;
}

export function pickOf<T>(items: readonly T[], fraction: number): T {
  return items[min(items.length - 1, floor(fraction * items.length))] as T;
}

export function randomFor(seed: number, purpose: string, index = 0): Random {
  return new Random(mix(seed, hashText(purpose), index));
}

/** sfc32: 128 bits of state, passes the usual batteries, a few nanoseconds a draw. */
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

  /** In [0, 1). */
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

  /** Both ends included. */
  int(low: number, high: number): number {
    return low + floor((high - low + 1) * this.next());
  }

  chance(probability: number): boolean {
    return this.next() < probability;
  }

  pick<T>(items: readonly T[]): T {
    return pickOf(items, this.next());
  }

  /** Mean 0, deviation 1, never beyond 2.5: a triangle is close enough to a bell for sensor noise. */
  noise(): number {
    return (this.next() + this.next() - 1) * 2.449;
  }
}

/** Noise with a memory: neighbours within `memory` samples resemble each other. */
export class Drifting {
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
