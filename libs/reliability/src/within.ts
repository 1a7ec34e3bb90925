import { CallAborted, CallTimedOut } from './outbound.errors.js';

/** Runs `work` with a signal that ends when the given one does, or after `ms`; its reason is one of our errors. */
export async function within<T>(
  ms: number,
  outer: AbortSignal | undefined,
  host: string,
  work: (signal: AbortSignal) => Promise<T>,
): Promise<T> {
  // `AbortSignal.any` would do, but on Node 20 it keeps every signal it ever made alive as long as the outer one.
  const controller = new AbortController();
  const timer = setTimeout(() => controller.abort(new CallTimedOut(host)), ms);
  const abort = () => controller.abort(abortion(outer, host));
  if (outer?.aborted) abort();
  outer?.addEventListener('abort', abort, { once: true });
  try {
    return await work(controller.signal);
  } finally {
    clearTimeout(timer);
    outer?.removeEventListener('abort', abort);
  }
}

/** Why a signal ended, as an error of ours: a deadline of an outer `within`, else the caller's wish. */
export function abortion(signal: AbortSignal | undefined, host: string): CallTimedOut | CallAborted {
  const reason: unknown = signal?.reason;
  if (reason instanceof CallTimedOut || reason instanceof CallAborted) return reason;
  return new CallAborted(host, { cause: reason });
}
