const LONGEST_WAIT_MS = 10_000;

/** `Prefer: wait=5`: how long a client would wait for something better than an answer at once. Anything else is ignored. */
export function preferredWaitMs(prefer: string | string[] | undefined): number {
  const text = typeof prefer === 'string' ? prefer : (prefer ?? []).join(',');
  const [, seconds] = /(?:^|[,;\s])wait\s*=\s*"?(\d{1,9})"?\s*(?:$|[,;])/i.exec(text) ?? [];
  return Math.min(LONGEST_WAIT_MS, Number(seconds ?? 0) * 1_000);
}
