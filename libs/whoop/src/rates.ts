import { type RateWord, retryAfterOf } from '#connections';
import { type Usage } from '#rate-limit';

type Headers = Readonly<Record<string, string>>;

const WINDOWS: Readonly<Record<string, string>> = { '60': 'minute', '86400': 'day' };
const LIMITS = /^\s*(\d{1,9})\s*((?:,\s*\d{1,9};\s*window=\d{1,9}\s*)+)$/;

/** WHOOP counts down, and says when it begins anew with every answer: that matters where nothing is left. */
export function readRates(headers: Headers): RateWord {
  const resetSeconds = Number(headers['x-ratelimit-reset']) || 0;
  return { usage: usageOf(headers), retryAfterSeconds: retryAfterOf(headers) || resetSeconds };
}

/**
 * `100, 100;window=60, 10000;window=86400` is the limit that is nearest to being hit, then all of them. How much is left is
 * told of the first alone, so of the others only the limit is known.
 */
function usageOf(headers: Headers): Usage[] {
  const [, nearest, all = ''] = LIMITS.exec(headers['x-ratelimit-limit'] ?? '') ?? [];
  const remaining = /^\d{1,9}$/.exec(headers['x-ratelimit-remaining'] ?? '')?.[0];
  if (nearest === undefined || remaining === undefined) return [];
  const counters = [...all.matchAll(/(\d+);\s*window=(\d+)/g)].flatMap(([, limit, seconds = '']) => {
    const window = WINDOWS[seconds];
    return window && Number(limit) > 0 ? [{ bucket: 'read', window, limit: Number(limit), used: 0 }] : [];
  });
  const told = counters.findIndex(({ limit }) => limit === Number(nearest));
  return counters.map((counter, index) =>
    index === told ? { ...counter, used: Math.max(0, counter.limit - Number(remaining)) } : counter,
  );
}
