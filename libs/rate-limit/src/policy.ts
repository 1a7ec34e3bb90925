/** How urgent a call is. A class leaves a part of each window to those above it. */
export type CallClass = 'live' | 'import' | 'backfill';

/** What a class leaves of a window to those above it: `percent` of the limit, but not more than `atMost` calls. */
export interface Reserve {
  readonly percent: number;
  readonly atMost: number;
  /** The call itself may be the first of those: what must remain is meant before it, not after it. */
  readonly withItself: boolean;
}

/** One counter that a call is charged to: a bucket of the vendor's within one of its windows. */
export interface CounterPolicy {
  /** As the answer names it: `read 15min`. */
  readonly bucket: string;
  readonly window: string;
  readonly seconds: number;
  /** The vendor's own number until its headers tell another. */
  readonly limit: number;
  readonly reserve: Readonly<Record<CallClass, Reserve>>;
  /** In the last seconds of the window the reserve is given up: what live traffic left would be lost. */
  readonly releasedForLastSeconds: number;
  /** Before the window's id. The name of Strava's read window is fixed by contract. */
  readonly key: string;
}

/** As the answers name a counter: `read 15min`. */
export const nameOf = ({ bucket, window }: Pick<CounterPolicy, 'bucket' | 'window'>): string =>
  `${bucket} ${window}`;

/** A vendor's limits as data. Counters whose windows nest end together, so the shortest decides where a boundary is. */
export interface VendorPolicy {
  readonly vendor: string;
  readonly counters: readonly CounterPolicy[];
  /** Simultaneous calls that hold a slot. */
  readonly slots: number;
}

const EVERYTHING: Reserve = { percent: 0, atMost: 0, withItself: false };
const BUFFER: Reserve = { percent: 5, atMost: 1_000_000, withItself: false };
// Backfill yields when fewer than 20 remain: of 100 it may make 81.
const YIELD: Reserve = { percent: 20, atMost: 20, withItself: true };

const QUARTER_SECONDS = 900;
const DAY_SECONDS = 86_400;

function quarter(bucket: string, limit: number, key: string): CounterPolicy {
  return {
    bucket,
    window: '15min',
    seconds: QUARTER_SECONDS,
    limit,
    reserve: { live: EVERYTHING, import: BUFFER, backfill: YIELD },
    releasedForLastSeconds: 0,
    key,
  };
}

function day(bucket: string, limit: number, key: string): CounterPolicy {
  return {
    bucket,
    window: 'day',
    seconds: DAY_SECONDS,
    limit,
    reserve: { live: EVERYTHING, import: BUFFER, backfill: BUFFER },
    releasedForLastSeconds: QUARTER_SECONDS,
    key,
  };
}

/** Per app, not per athlete. Every call we make counts as "non-upload", so each is charged to all four. */
export const strava: VendorPolicy = {
  vendor: 'strava',
  counters: [
    quarter('read', 100, 'strava:rate:global:window:'),
    day('read', 1_000, 'strava:rate:global:day:'),
    quarter('overall', 200, 'strava:rate:overall:window:'),
    day('overall', 2_000, 'strava:rate:overall:day:'),
  ],
  slots: 4,
};

/** Per app, by its documents. */
export const whoop: VendorPolicy = {
  vendor: 'whoop',
  counters: [
    plain('minute', 60, 100, 'whoop:rate:global:minute:'),
    plain('day', DAY_SECONDS, 10_000, 'whoop:rate:global:day:'),
  ],
  slots: 4,
};

/** Its documents name no numbers any more; those of before were counted per token, so this is on the safe side. */
export const oura: VendorPolicy = {
  vendor: 'oura',
  counters: [plain('5min', 300, 5_000, 'oura:rate:global:window:')],
  slots: 4,
};

function plain(window: string, seconds: number, limit: number, key: string): CounterPolicy {
  const reserve = { live: EVERYTHING, import: BUFFER, backfill: BUFFER };
  return { bucket: 'read', window, seconds, limit, reserve, releasedForLastSeconds: 0, key };
}

/** How many of a window's calls this class may make, while the reserve is kept. */
export function ceiling(limit: number, { percent, atMost, withItself }: Reserve): number {
  return limit - Math.min(atMost, Math.ceil((limit * percent) / 100)) + (withItself ? 1 : 0);
}
