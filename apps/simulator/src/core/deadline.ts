import { type VendorClock } from './clock.js';

/** Runs a network call that is aborted after `timeoutMs`, unscaled: patience on a wire is not a vendor's rule. */
export async function withDeadline<Result>(
  clock: VendorClock,
  timeoutMs: number,
  call: (signal: AbortSignal) => Promise<Result>,
): Promise<Result> {
  const controller = new AbortController();
  const cancel = clock.after(timeoutMs, () => controller.abort());
  try {
    return await call(controller.signal);
  } finally {
    cancel();
  }
}
