import { type RateWord, retryAfterOf } from '#connections';
import { type Usage } from '#rate-limit';

const BUCKETS = [
  ['read', 'x-readratelimit'],
  ['overall', 'x-ratelimit'],
] as const;
const WINDOWS = ['15min', 'day'] as const;

export function readRates(headers: Readonly<Record<string, string>>): RateWord {
  return { usage: usageOf(headers), retryAfterSeconds: retryAfterOf(headers) };
}

/** What the rate headers say of the four counters; nothing of those they do not tell or tell oddly. */
export function usageOf(headers: Readonly<Record<string, string>>): Usage[] {
  return BUCKETS.flatMap(([bucket, header]) => {
    const limits = numbers(headers[`${header}-limit`]);
    const used = numbers(headers[`${header}-usage`]);
    return WINDOWS.flatMap((window, index) => {
      const [limit, spent] = [limits[index], used[index]];
      return limit !== undefined && limit > 0 && spent !== undefined
        ? [{ bucket, window, limit, used: spent }]
        : [];
    });
  });
}

/** `100,1000`: the short window and the day. */
function numbers(header: string | undefined): number[] {
  return /^\s*\d{1,9}\s*,\s*\d{1,9}\s*$/.test(header ?? '') ? (header ?? '').split(',').map(Number) : [];
}
