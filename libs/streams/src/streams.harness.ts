// For specs only.
import { randomUUID } from 'node:crypto';
import { createLogger, type Database, type Sql, timeScale } from '#platform';
import { StreamAttempts } from './fetch/stream-attempts.js';
import { StreamEndings } from './fetch/stream-endings.js';
import { type Fetched, type StreamSource, type Wanted } from './fetch/stream-source.js';
import { type Claim, type FetchStatus } from './lifecycle/fetch-state.js';
import { StreamFetches } from './lifecycle/stream-fetches.js';
import { encode, type Stored } from './reading/answer.js';
import { Bodies } from './reading/bodies.js';
import { Heads } from './reading/heads.js';
import { type PromptFetch } from './reading/prompt-fetch.js';
import { Streams } from './reading/streams.js';

/** Lengths of time as Postgres writes them: `6 minutes`. */
type Interval = string;

/** What matters of an activity; the rest is as with most. */
export interface Given {
  readonly status?: FetchStatus;
  readonly error?: string;
  readonly retries?: number;
  readonly empties?: number;
  readonly fence?: number;
  /** So long ago. */
  readonly attempted?: Interval;
  /** In so long. */
  readonly deferredFor?: Interval;
  /** So long ago. */
  readonly ended?: Interval;
  readonly manual?: boolean;
  readonly externalId?: string | null;
}

export interface State {
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
       id, athlete_id, external_activity_id, name, sport_type, start_time, distance_m, moving_time_s, elapsed_time_s,
       elevation_gain_m, manual, private, total_photo_count, asked_at,
       stream_fetch_status, stream_fetch_error, stream_fetch_retry_count, stream_fetch_empty_count, stream_fetch_fence,
       stream_fetch_attempted_at, stream_fetch_deferred_until
     )
     values (
       $1, $2, $3, 'Ride', 'Ride', now() - $4::interval - $5::integer * interval '1 second', 30000, $5, $5,
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

/** The row of streams with the version of the row itself: one that was written again is another. */
export async function streamOf(sql: Sql, id: string): Promise<Record<string, unknown> | undefined> {
  const { rows } = await sql.query<Record<string, unknown>>(
    `select xmin::text, activity_stream.* from activity_stream where activity_id = $1`,
    [id],
  );
  return rows[0];
}

/** As if that much time had gone by since whatever happened to these activities. */
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

/** The claim that would be the current one of this fence. */
export function claimOf(id: string, fence: number): Claim {
  return { id, fence: String(fence), retry_count: 0, empty_count: 0, is_fresh: false };
}

export const FETCHED_AT = new Date('2026-11-18T09:00:00Z');

/** A small recording, told apart by its watts. */
export function aStored(id: string, watts = 1, fetchedAt = FETCHED_AT): Promise<Stored> {
  return encode(id, 'strava', fetchedAt, { channels: { time: [0, 1], watts: [watts, null] }, pointCount: 2 });
}

export async function connect(sql: Sql, athleteId: string, status = 'active'): Promise<void> {
  await sql.query(
    `insert into connection (
       athlete_id, provider, vendor_athlete_id, scopes, status, access_token, refresh_token, key_version, expires_at
     )
     values ($1, 'strava', $3, '{}', $2, '', '', 1, now())`,
    [athleteId, status, athleteId],
  );
}

/** A vendor who answers what it is told to. */
export class ScriptedSource implements StreamSource {
  readonly name = 'strava';
  readonly longestCallMs = 1_000;
  readonly asked: Wanted[] = [];
  remaining: () => Promise<number | null> = () => Promise.resolve(37);
  script: (wanted: Wanted) => Promise<Fetched> = () => Promise.reject(new Error('not told what to answer'));

  fetch(wanted: Wanted): Promise<Fetched> {
    this.asked.push(wanted);
    return this.script(wanted);
  }
  budgetRemaining(): Promise<number | null> {
    return this.remaining();
  }

  answers(fetched: Fetched): void {
    this.script = async (wanted) => ((await wanted.claim()) ? fetched : { kind: 'unclaimed' });
  }

  refuses(fetched: Fetched): void {
    this.script = () => Promise.resolve(fetched);
  }
}

const silent = createLogger({ level: 'silent', process: 'test' });

export function attemptsWith(sql: Database, source: StreamSource, logger = silent): StreamAttempts {
  const scale = timeScale(1);
  const fetches = new StreamFetches(sql, scale);
  const endings = new StreamEndings(fetches, { nowMs: () => FETCHED_AT.getTime() }, source, scale);
  return new StreamAttempts(fetches, endings, source, scale, logger);
}

/** As one process reads them, with a memory of its own. Without `prompt` nobody may wait. */
export function streamsOn(database: Database, prompt?: PromptFetch): Streams {
  const heads = new Heads(database, timeScale(1));
  return new Streams(heads, new Bodies(database), prompt as PromptFetch);
}
