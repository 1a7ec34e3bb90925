/** How urgent a call is, most urgent first. A class leaves a part of each window to more urgent classes. */
export const CALL_CLASSES = ['live', 'import', 'backfill'] as const;
export type CallClass = (typeof CALL_CLASSES)[number];

/** The part of a window that a class leaves to more urgent ones: `percent` of the limit, `atMost` calls at most. */
export interface Reserve {
  readonly percent: number;
  readonly atMost: number;
  /** If true, the reserve is checked before this call is counted, so a reserve of N admits call (limit − N + 1). */
  readonly countsThisCall: boolean;
}

/** One counter that a call is charged to: one of the vendor's buckets in one of its windows. */
export interface CounterPolicy {
  readonly bucket: string;
  readonly window: string;
  readonly seconds: number;
  /**
   * When a window begins. `epoch`, the default: at each multiple of its length since 1970. `first request`: with the first request after the
   * end of the window before.
   */
  readonly alignment?: 'epoch' | 'first request';
  /** The documented limit, used until the vendor's headers report another. */
  readonly limit: number;
  readonly reserve: Readonly<Record<CallClass, Reserve>>;
  /** The reserve is released for this long before the window ends. Otherwise calls that live traffic did not use would be lost. */
  readonly releasedForLastSeconds: number;
  /** The Redis key's prefix, followed by the window's id. The contract fixes the prefix of Strava's read window. */
  readonly key: string;
}

/** The counter's name in outcomes, metrics and the ledger: `read 15min`. */
export const nameOf = ({ bucket, window }: Pick<CounterPolicy, 'bucket' | 'window'>): string =>
  `${bucket} ${window}`;

/** The headers in which a vendor's answers report its limits. Header names are in lower case. */
export type RateHeaders =
  /**
   * Per bucket a header of limits and a header of usage, with numbers in the order of `windows`: `100,1000` and `12,345`. `reset` has the
   * seconds until each window ends.
   */
  | {
      readonly form: 'lists';
      readonly windows: readonly string[];
      readonly buckets: ReadonlyArray<{
        readonly bucket: string;
        readonly limit: string;
        readonly usage: string;
        readonly reset?: string;
      }>;
    }
  /**
   * One header of limits, `100, 100;window=60, 10000;window=86400`: first the limit nearest to being reached, then every limit
   * with its window in seconds. `remaining` and `reset` describe the nearest limit only.
   */
  | {
      readonly form: 'quotas';
      readonly bucket: string;
      readonly limit: string;
      readonly remaining: string;
      /** Seconds until the nearest window begins anew; present in every answer. */
      readonly reset: string;
    };

/** The share of a vendor's day for one purpose: `percent` of the read limit, spread over the day, at most `burst` calls at once. */
export interface DayShare {
  readonly percent: number;
  readonly burst: number;
}

/**
 * A vendor's limits as data: the limits, the headers that report them, and the effect of reaching one. When a long window that is
 * aligned to the epoch ends, a short one ends too.
 */
export interface VendorPolicy {
  readonly vendor: string;
  readonly counters: readonly CounterPolicy[];
  /** At most this many calls hold a slot at the same time. */
  readonly slots: number;
  /** Bounds for purposes that no athlete waits for. Without a bound such calls would use up the rest of the day. */
  readonly shares?: Readonly<Record<string, DayShare>>;
  /**
   * The effect of a reached limit on an import. `resume`: a large import often reaches the limit, and the import resumes later by
   * itself. `fail`: a reached limit is most likely our bug, so the import ends with an error for the operator.
   */
  readonly atLimit: 'resume' | 'fail';
  /** Absent: the vendor's answers report no limits, and only `Retry-After` is read. */
  readonly rateHeaders?: RateHeaders;
}

export const DAY_SECONDS = 86_400;

export const RESERVES = {
  none: { percent: 0, atMost: 0, countsThisCall: false },
  buffer: { percent: 5, atMost: 1_000_000, countsThisCall: false },
  // The backfill yields when fewer than 20 calls remain: with a limit of 100, the backfill makes 81 calls at most.
  yielding: { percent: 20, atMost: 20, countsThisCall: true },
} as const satisfies Readonly<Record<string, Reserve>>;

/** True if a window of this counter begins with a request. */
export const beginsWithRequest = ({ alignment }: CounterPolicy): boolean => alignment === 'first request';

type CounterFacts = Pick<CounterPolicy, 'window' | 'seconds' | 'limit' | 'key'> & Partial<CounterPolicy>;

/** Completes a counter: imports and backfills leave 5 % of it to live calls, until its window ends. */
export function counter(facts: CounterFacts): CounterPolicy {
  const { none, buffer } = RESERVES;
  const reserve = { live: none, import: buffer, backfill: buffer };
  return { bucket: 'read', reserve, releasedForLastSeconds: 0, ...facts };
}
