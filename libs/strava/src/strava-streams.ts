import { AppError, isRedisAway } from '#platform';
import { type CallClass, type VendorBudget } from '#rate-limit';
import { LONGEST_STRAVA_CALL_MS } from './call-limits.js';
import { type RawStreams, type StravaClient } from './strava-client.js';
import {
  CallUnwanted,
  StravaAnswerMalformed,
  StravaBudgetUnavailable,
  StravaForbidden,
  StravaNotFound,
  StravaOutage,
  StravaRateLimited,
  StravaRequestRefused,
  StravaTokenRevoked,
} from './strava.errors.js';

export interface WantedStreams {
  readonly athleteId: string;
  readonly externalActivityId: string;
  readonly class: CallClass;
  readonly waitMs: number;
  claim(): Promise<boolean>;
}

export type FetchedStreams =
  | { readonly kind: 'answered'; readonly channels: Readonly<Record<string, unknown>> }
  | { readonly kind: 'unclaimed' | 'none' | 'unmetered' }
  | { readonly kind: 'later'; readonly reason: string; readonly retryAfterMs?: number }
  | { readonly kind: 'disconnected'; readonly reason: string }
  | { readonly kind: 'failed'; readonly reason: string; readonly isOutage: boolean };

/** All that Strava records. What it has not, it leaves out. */
const CHANNELS = [
  'time',
  'distance',
  'latlng',
  'altitude',
  'velocity_smooth',
  'heartrate',
  'cadence',
  'watts',
  'temp',
  'moving',
  'grade_smooth',
];

/** Strava as a source of streams: all channels of an activity in one call, and how that ended as a value. */
export class StravaStreams {
  readonly name = 'strava';
  readonly longestCallMs = LONGEST_STRAVA_CALL_MS;

  constructor(
    private readonly client: StravaClient,
    private readonly budget: VendorBudget,
  ) {}

  async fetch({ externalActivityId, ...who }: WantedStreams): Promise<FetchedStreams> {
    try {
      const streams = await this.client.streams(who, externalActivityId, CHANNELS);
      return { kind: 'answered', channels: samplesOf(streams) };
    } catch (error) {
      return outcomeOf(error);
    }
  }

  async budgetRemaining(): Promise<number | null> {
    try {
      const gauges = await this.budget.gauges();
      const window = gauges.find((one) => one.bucket === 'read' && one.window === '15min');
      return window?.remaining ?? null;
    } catch (error) {
      if (isRedisAway(error)) return null;
      throw error;
    }
  }
}

/** They count as a failed attempt. */
const FAILURES = [StravaOutage, StravaAnswerMalformed, StravaForbidden, StravaRequestRefused];

/** Out of the envelopes. What is in none stays as it is, for whoever looks at the shape. */
function samplesOf(streams: RawStreams): Record<string, unknown> {
  const entries = Object.entries(streams).map(([name, stream]) => {
    const isEnveloped = typeof stream === 'object' && stream !== null && 'data' in stream;
    return [name, isEnveloped ? stream.data : stream] as const;
  });
  return Object.fromEntries(entries);
}

function outcomeOf(error: unknown): FetchedStreams {
  if (error instanceof CallUnwanted) return { kind: 'unclaimed' };
  if (error instanceof StravaNotFound) return { kind: 'none' };
  if (error instanceof StravaBudgetUnavailable) return { kind: 'unmetered' };
  if (error instanceof StravaRateLimited) {
    const reason = error.isVendors ? 'Strava answered 429' : error.message;
    return { kind: 'later', reason, retryAfterMs: error.retryAfterMs };
  }
  if (error instanceof StravaTokenRevoked) return { kind: 'disconnected', reason: error.message };
  if (FAILURES.some((type) => error instanceof type))
    return { kind: 'failed', reason: (error as Error).message, isOutage: error instanceof StravaOutage };
  // The operator's to mend, or a server's that is away: not the activity's fault.
  if (error instanceof AppError && error.kind === 'unavailable') {
    const retryAfterMs = error.retryAfterSeconds && error.retryAfterSeconds * 1_000;
    return { kind: 'later', reason: error.message, retryAfterMs };
  }
  throw error;
}
