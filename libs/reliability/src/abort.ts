import { CallAborted, CallTimedOut } from './outbound.errors.js';

/** Runs `work` with a signal that aborts when `outer` aborts or after `ms`. The abort reason is CallAborted or CallTimedOut. */
export async function within<T>(
  ms: number,
  outer: AbortSignal | undefined,
  host: string,
  work: (signal: AbortSignal) => Promise<T>,
): Promise<T> {
  // `AbortSignal.any` would leak: on Node 20 each combined signal stays in memory for as long as the outer signal lives.
  const controller = new AbortController();
  const timer = setTimeout(() => controller.abort(new CallTimedOut(host)), ms);
  const abort = () => controller.abort(abortErrorOf(outer, host));
  if (outer?.aborted) abort();
  outer?.addEventListener('abort', abort, { once: true });
  try {
    return await work(controller.signal);
  } finally {
    clearTimeout(timer);
    outer?.removeEventListener('abort', abort);
  }
}

/** The abort reason as one of our errors: CallTimedOut and CallAborted stay as they are, any other reason is wrapped in CallAborted. */
export function abortErrorOf(signal: AbortSignal | undefined, host: string): CallTimedOut | CallAborted {
  const reason: unknown = signal?.reason;
  if (reason instanceof CallTimedOut || reason instanceof CallAborted) return reason;
  return new CallAborted(host, { cause: reason });
}

/** Settles like `work`. If the signal aborts first, rejects at once with the signal's reason and drops the result of `work`. */
export async function untilAborted<T>(work: Promise<T>, signal: AbortSignal | undefined): Promise<T> {
  if (!signal) return work;
  let onAbort: () => void = () => undefined;
  const aborted = new Promise<never>((_, reject) => {
    onAbort = () => reject(signal.reason as Error);
    if (signal.aborted) onAbort();
    else signal.addEventListener('abort', onAbort, { once: true });
  });
  try {
    return await Promise.race([work, aborted]);
  } finally {
    signal.removeEventListener('abort', onAbort);
  }
}
