import { type CounterPolicy } from './policy.js';

/** What the vendor's headers say of a counter. */
export interface Usage {
  readonly bucket: string;
  readonly window: string;
  readonly limit: number;
  readonly used: number;
}

export function usageOf(counter: CounterPolicy, usage: readonly Usage[]): Usage | undefined {
  return usage.find(({ bucket, window }) => bucket === counter.bucket && window === counter.window);
}
