import { type CounterPolicy, type RateHeaders, type VendorPolicy } from './policy.js';

/** One counter as the vendor's headers report it. */
export interface Usage {
  readonly bucket: string;
  readonly window: string;
  readonly limit: number;
  readonly used: number;
  /** Seconds until the window ends, if the vendor reports them. */
  readonly resetsInSeconds?: number;
}

/** The vendor's limits as an answer's headers report them. */
interface RateReport {
  readonly usage: readonly Usage[];
  readonly retryAfterSeconds: number;
  /** The vendor's time when it answered, cut off to seconds. Undefined without a readable `Date`. */
  readonly dateMs: number | undefined;
}

type AnswerHeaders = Readonly<Record<string, string>>;

/** Reads the headers that the policy names; ignores missing and malformed headers. `Retry-After` wins over the vendor's reset header. */
export function readRates(policy: VendorPolicy, headers: AnswerHeaders): RateReport {
  const { rateHeaders: format } = policy;
  const dateMs = momentOf(headers.date);
  const retryAfterSeconds = retryAfterOf(headers['retry-after'], dateMs);
  switch (format?.form) {
    case undefined:
      return { usage: [], retryAfterSeconds, dateMs };
    case 'lists':
      return { usage: usageInLists(format, headers), retryAfterSeconds, dateMs };
    case 'quotas':
      return {
        usage: usageInQuotas(format, headers, policy),
        retryAfterSeconds: retryAfterSeconds || Math.max(0, Number(headers[format.reset]) || 0),
        dateMs,
      };
  }
}

/**
 * `Retry-After` in seconds, 0 if there is none. The header may name a moment by the vendor's clock; only with the answer's `Date` is this a
 * length of time.
 */
function retryAfterOf(header: string | undefined, dateMs: number | undefined): number {
  const untilMs = momentOf(header);
  if (untilMs !== undefined) return dateMs === undefined ? 0 : Math.max(0, (untilMs - dateMs) / 1_000);
  return Math.max(0, Number(header) || 0);
}

// As every HTTP server writes it: `Wed, 18 Nov 2026 12:00:00 GMT`.
const MOMENT = /^[A-Z][a-z]{2}, \d{2} [A-Z][a-z]{2} \d{4} \d{2}:\d{2}:\d{2} GMT$/;

function momentOf(header: string | undefined): number | undefined {
  const ms = MOMENT.test(header ?? '') ? Date.parse(header ?? '') : NaN;
  return Number.isNaN(ms) ? undefined : ms;
}

export function usageOf(counter: CounterPolicy, usage: readonly Usage[]): Usage | undefined {
  return usage.find(({ bucket, window }) => bucket === counter.bucket && window === counter.window);
}

function usageInLists(format: RateHeaders & { form: 'lists' }, headers: AnswerHeaders): Usage[] {
  return format.buckets.flatMap(({ bucket, ...names }) => {
    const limits = numbers(headers[names.limit], format.windows.length);
    const used = numbers(headers[names.usage], format.windows.length);
    const resets = numbers(names.reset && headers[names.reset], format.windows.length);
    return format.windows.flatMap((window, index) => {
      const [limit, spent] = [limits[index], used[index]];
      return limit !== undefined && limit > 0 && spent !== undefined
        ? [{ bucket, window, limit, used: spent, ...resetIn(resets[index]) }]
        : [];
    });
  });
}

const resetIn = (resetsInSeconds: number | undefined) =>
  resetsInSeconds === undefined ? {} : { resetsInSeconds };

const NUMBERS = /^\s*\d{1,9}\s*(?:,\s*\d{1,9}\s*)*$/;

function numbers(header: string | undefined, count: number): number[] {
  const found = NUMBERS.test(header ?? '') ? (header ?? '').split(',').map(Number) : [];
  return found.length === count ? found : [];
}

const QUOTAS = /^\s*(\d{1,9})\s*((?:,\s*\d{1,9};\s*window=\d{1,9}\s*)+)$/;

function usageInQuotas(
  format: RateHeaders & { form: 'quotas' },
  headers: AnswerHeaders,
  { counters }: VendorPolicy,
): Usage[] {
  const { bucket } = format;
  const [, nearest, all = ''] = QUOTAS.exec(headers[format.limit] ?? '') ?? [];
  const remaining = /^\d{1,9}$/.exec(headers[format.remaining] ?? '')?.[0];
  if (nearest === undefined || remaining === undefined) return [];
  const quotas = [...all.matchAll(/(\d+);\s*window=(\d+)/g)].flatMap(([, limit, seconds]) => {
    const counter = counters.find((one) => one.bucket === bucket && one.seconds === Number(seconds));
    return counter && Number(limit) > 0
      ? [{ bucket, window: counter.window, limit: Number(limit), used: 0 }]
      : [];
  });
  const nearestAt = quotas.findIndex(({ limit }) => limit === Number(nearest));
  return quotas.map((quota, index) =>
    index === nearestAt ? { ...quota, used: Math.max(0, quota.limit - Number(remaining)) } : quota,
  );
}
