// For specs only.
import { randomUUID } from 'node:crypto';
import { createLogger, type Database, type Sql, StandbyReads, timeScale } from '#platform';
import { type Budgets } from '#rate-limit';
import {
  type Aspect,
  type CallContext,
  type CallOutcome,
  type RawStreams,
  type Sources,
  type StreamSource,
  type VendorId,
} from '#vendors';
import { StreamAttempts } from './fetch/stream-attempts.js';
import { FetchOutcomes } from './fetch/fetch-outcomes.js';
import { type FetchClaim, type FetchStatus, StreamFetches } from './lifecycle/stream-fetches.js';
import { encode, type Stored } from './reading/answer.js';
import { Bodies } from './reading/bodies.js';
import { Heads } from './reading/heads.js';
import { Cutter } from './reading/cutter.js';
import { type PromptFetch } from './reading/prompt-fetch.js';
import { Streams } from './reading/streams.js';

/** A duration as Postgres writes it: `6 minutes`. */
type Interval = string;

/** The fields of an activity that a test sets; the others have usual values. */
export interface Given {
  readonly provider?: VendorId;
  readonly status?: FetchStatus;
  readonly error?: string;
  readonly retries?: number;
  readonly empties?: number;
  readonly fence?: number;
  /** Time since the last attempt. */
  readonly attempted?: Interval;
  /** Time until the deferral ends. */
  readonly deferredFor?: Interval;
  /** Time since the activity ended. */
  readonly ended?: Interval;
  readonly manual?: boolean;
  readonly externalId?: string | null;
}

interface State {
  readonly status: FetchStatus;
  readonly error: string | null;
  readonly retries: number;
  readonly empties: number;
  readonly fence: number;
  readonly attempted_at: Date | null;
  readonly deferred_until: Date | null;
}

const HOUR_S = 3_600;

export async function newActivity(sql: Sql, athleteId: string, given: Given = {}): Promise<string> {
  const id = randomUUID();
  const status = given.status ?? 'pending';
  const needs = { fetching: { attempted: '1 second' }, deferred: { deferredFor: '15 minutes' } };
  const whole = { ...needs[status as keyof typeof needs], ...given };
  await sql.query(
    `insert into activity (
       id, athlete_id, provider, external_activity_id, name, sport_type, start_time, distance_m, moving_time_s, elapsed_time_s,
       elevation_gain_m, manual, private, total_photo_count, asked_at,
       stream_fetch_status, stream_fetch_error, stream_fetch_retry_count, stream_fetch_empty_count, stream_fetch_fence,
       stream_fetch_attempted_at, stream_fetch_deferred_until
     )
     values (
       $1, $2, $14, $3, 'Ride', 'Ride', now() - $4::interval - $5::integer * interval '1 second', 30000, $5, $5,
       100, $6, false, 0, now(),
       $7, $8, $9, $10, $11,
       now() - $12::interval, now() + $13::interval
     )`,
    [
      id,
      athleteId,
      whole.externalId === undefined ? id.replaceAll(/\D/g, '') : whole.externalId,
      whole.ended ?? '30 days',
      HOUR_S,
      whole.manual ?? false,
      status,
      whole.error ?? null,
      whole.retries ?? 0,
      whole.empties ?? 0,
      whole.fence ?? 0,
      whole.attempted ?? null,
      whole.deferredFor ?? null,
      whole.provider ?? 'strava',
    ],
  );
  return id;
}

export async function stateOf(sql: Sql, id: string): Promise<State> {
  const { rows } = await sql.query<State>(
    `select
       stream_fetch_status as status,
       stream_fetch_error as error,
       stream_fetch_retry_count as retries,
       stream_fetch_empty_count as empties,
       stream_fetch_fence::integer as fence,
       stream_fetch_attempted_at as attempted_at,
       stream_fetch_deferred_until as deferred_until
     from activity
     where id = $1`,
    [id],
  );
  if (!rows[0]) throw new Error('no such activity');
  return rows[0];
}

/** The row of streams with its `xmin`, which changes when the row is written again, even with equal values. */
export async function streamOf(sql: Sql, id: string): Promise<Record<string, unknown> | undefined> {
  const { rows } = await sql.query<Record<string, unknown>>(
    `select xmin::text, activity_stream.* from activity_stream where activity_id = $1`,
    [id],
  );
  return rows[0];
}

/** Moves the timestamps of these activities into the past, so that `interval` seems to have passed. */
export async function passTime(sql: Sql, ids: readonly string[], interval: Interval): Promise<void> {
  await sql.query(
    `update activity
     set
       stream_fetch_attempted_at = stream_fetch_attempted_at - $2::interval,
       stream_fetch_deferred_until = stream_fetch_deferred_until - $2::interval
     where id = any ($1::uuid[])`,
    [ids, interval],
  );
}

/** The claim that has this fence. */
export function claimOf(id: string, fence: number): FetchClaim {
  return { id, fence: String(fence), retry_count: 0, empty_count: 0, is_fresh: false };
}

export const FETCHED_AT = new Date('2026-11-18T09:00:00Z');

/** A small recording; its watts identify it. */
export function aStored(id: string, watts = 1, fetchedAt = FETCHED_AT): Promise<Stored> {
  return encode(id, 'strava', fetchedAt, { channels: { time: [0, 1], watts: [watts, null] }, pointCount: 2 });
}

export async function connect(
  sql: Sql,
  athleteId: string,
  status = 'active',
  provider: VendorId = 'strava',
): Promise<void> {
  await sql.query(
    `insert into connection (
       athlete_id, provider, vendor_athlete_id, scopes, status, access_token, refresh_token, key_version, expires_at
     )
     values ($1, $4, $3, '{}', $2, '', '', 1, now())`,
    [athleteId, status, athleteId, provider],
  );
}

/** Stores the vendor's event about an activity of a connected athlete as received `ago`. */
export async function announce(
  sql: Sql,
  activityId: string,
  { ago = '0', aspect = 'create' }: { readonly ago?: Interval; readonly aspect?: Aspect } = {},
): Promise<void> {
  await sql.query(
    `insert into webhook_event (vendor, dedupe_key, owner_id, object_type, object_id, aspect, event_time, raw, received_at)
     select
       activity.provider, activity.id::text, connection.vendor_athlete_id, 'activity', activity.external_activity_id, $3,
       activity.start_time, '', clock_timestamp() - $2::interval
     from activity
     join connection using (athlete_id, provider)
     where activity.id = $1`,
    [activityId, ago, aspect],
  );
}

interface StreamRequest extends CallContext {
  readonly externalActivityId: string;
}

export type Fetched = CallOutcome<RawStreams>;

export const UNCLAIMED: Fetched = {
  kind: 'notNow',
  because: 'unclaimed',
  retryAfterMs: 0,
  reason: 'unclaimed',
};

/** A vendor that answers as its `script` says. */
export class ScriptedSource implements StreamSource {
  readonly requests: StreamRequest[] = [];
  remaining: () => Promise<number[]> = () => Promise.resolve([37, 800]);
  script: (claim: () => Promise<boolean>) => Promise<Fetched> = () =>
    Promise.reject(new Error('the script is not set'));

  streams(context: CallContext, externalActivityId: string): Promise<Fetched> {
    this.requests.push({ ...context, externalActivityId });
    return this.script(context.claim ?? (() => Promise.resolve(true)));
  }

  claimAndAnswer(fetched: Fetched): void {
    this.script = async (claim) => ((await claim()) ? fetched : UNCLAIMED);
  }

  answerWithoutClaim(fetched: Fetched): void {
    this.script = () => Promise.resolve(fetched);
  }
}

const silent = createLogger({ level: 'silent', process: 'test' });

export function attemptsWith(
  sql: Database,
  source: StreamSource & Partial<Pick<ScriptedSource, 'remaining'>>,
  logger = silent,
): StreamAttempts {
  const scale = timeScale(1);
  const fetches = new StreamFetches(sql, scale);
  const outcomes = new FetchOutcomes(fetches, { nowMs: () => FETCHED_AT.getTime() }, scale);
  const sources = { streams: () => source } as unknown as Sources;
  const gauges = async () => (await source.remaining?.())?.map((remaining) => ({ remaining })) ?? [];
  const budgets = { of: () => ({ gauges }) } as unknown as Budgets;
  return new StreamAttempts(fetches, outcomes, sources, budgets, logger);
}

/** The reading side of one process, with a cache of its own. Without `prompt` a test must not pass `waitMs`. */
export function streamsOn(database: Database, prompt?: PromptFetch): Streams {
  const heads = new Heads(database, timeScale(1));
  return new Streams(heads, new Bodies(new StandbyReads(database), new Cutter()), prompt as PromptFetch);
}
