import { Injectable } from '@nestjs/common';
import { Database, DependencyUnavailable, loadSql, prepared, type Sql } from '#platform';
import { type NightVendor } from '../contract/night-events.js';
import { keyColumns, type NightKey, sessionColumns, texts, unquoted } from './columns.js';
import { type NightSource, type SleepSession } from './session.js';

export const saveSessions = loadSql(import.meta.url, './sql/save-sessions.sql');
const deriveNights = loadSql(import.meta.url, './sql/derive-nights.sql');
const nightsThatDiffer = prepared(
  'sleep nights that differ',
  `
    select
      published.user_id, to_char(published.date, 'YYYY-MM-DD') as date, sleep_data.event_id, duration_minutes, quality_score, vendor,
      captured_at, true as changed
    from unnest(string_to_array($1, chr(30), ''), $2::date[], string_to_array($3, chr(30), '')) as published (user_id, date, event_id)
    left join sleep_data on sleep_data.user_id = published.user_id and sleep_data.date = published.date
    where sleep_data.event_id is distinct from published.event_id`,
);
const leaveUnpublished = prepared(
  'leave sleep nights unpublished',
  `
    insert into sleep_untold (user_id, date)
    select user_id, date
    from unnest(string_to_array($1, chr(30), ''), $2::date[]) as changed (user_id, date)
    on conflict (user_id, date) do update
    set because = excluded.because`,
);
const datesOfRecords = prepared(
  'dates of sleep records',
  `
    select sleep_session.user_id, to_char(present_or_former.date, 'YYYY-MM-DD') as date, named.event_id
    from unnest(
      string_to_array($1, chr(30), ''), $2::text[], string_to_array($3, chr(30), ''), string_to_array($4, chr(30), '')
    ) as named (user_id, source, record_id, event_id)
    join sleep_session using (user_id, source, record_id)
    cross join lateral unnest(sleep_session.former_dates || sleep_session.date) as present_or_former (date)`,
);

// A client has one record per date, so batches of clients' nights share the lock. A vendor may have several records of one date,
// and the night is derived from all of them, so a batch with vendors' records runs alone.
const SHARED = "select pg_advisory_xact_lock_shared(hashtextextended('sleep nights', 0))";
const EXCLUSIVE = "select pg_advisory_xact_lock(hashtextextended('sleep nights', 0))";

// No event has this id, so a key with it never matches the stored night.
export const NO_EVENT = '\u001f';

export interface Night {
  readonly user_id: string;
  readonly date: string;
  /** Null if there is no night; then all fields below except `changed` are null too. */
  readonly event_id: string | null;
  readonly duration_minutes: number;
  readonly quality_score: number | null;
  readonly vendor: NightVendor;
  readonly captured_at: Date;
  readonly changed: boolean;
}

export interface Saved {
  readonly keys: readonly NightKey[];
  /** The present state of each night in `keys` whose event differs from the key's. */
  readonly others: readonly Night[];
  /** Sessions that were not stored because their data was deleted. */
  readonly erased: readonly ErasedSessions[];
}

interface ErasedSessions {
  readonly source: NightSource;
  readonly count: number;
}

/**
 * Stores sessions and derives nights from them. An older session never overwrites a newer one. The store publishes
 * nothing. After a crash between storing and publishing, the worker that gets the event again publishes the night.
 */
@Injectable()
export class SleepStore {
  constructor(private readonly database: Database) {}

  async isReachable(): Promise<boolean> {
    try {
      await this.database.query('select');
      return true;
    } catch (error) {
      if (error instanceof DependencyUnavailable) return false;
      throw error;
    }
  }

  /** `sessions`: the newest of each record, sorted, as `newestOfEach` returns them. */
  save(sessions: readonly SleepSession[]): Promise<Saved> {
    const records = sessions.filter(({ source }) => source !== 'ingest');
    return this.database.transaction(async (sql) => {
      await sql.query(records.length > 0 ? EXCLUSIVE : SHARED);
      const { rows: erased } = await sql.query<ErasedSessions>(saveSessions, sessionColumns(sessions));
      const keys = keysOf(sessions, await datesOf(sql, records));
      const { rows } = await sql.query<Night>(deriveNights, keyColumns(keys));
      return { keys, others: rows, erased };
    });
  }

  /**
   * Stores events of the stream once more. `UnpublishedNights` publishes the changed nights, even if the caller crashes.
   * Returns how many nights changed.
   */
  restore(sessions: readonly SleepSession[]): Promise<number> {
    const records = sessions.filter(({ source }) => source !== 'ingest');
    return this.database.transaction(async (sql) => {
      await sql.query(records.length > 0 ? EXCLUSIVE : SHARED);
      await sql.query(saveSessions, sessionColumns(sessions));
      const keys = keysOf(sessions, await datesOf(sql, records));
      const unnamed = keys.map((key) => ({ ...key, event_id: NO_EVENT }));
      const { rows } = await sql.query<Night>(deriveNights, keyColumns(unnamed));
      const changed = rows.filter((night) => night.changed);
      await sql.query(leaveUnpublished, keyColumns(changed).slice(0, 2));
      return changed.length;
    });
  }

  /** Returns the present state of the nights that were published with another event. */
  async outdated(published: readonly NightKey[]): Promise<readonly Night[]> {
    const { rows } = await this.database.query<Night>(nightsThatDiffer, keyColumns(published));
    return rows;
  }
}

/** Derives the nights of these dates again, after a deletion of sessions. */
export async function rederiveNights(sql: Sql, dates: readonly NightKey[]): Promise<void> {
  await sql.query(deriveNights, keyColumns(dates));
}

/** No other transaction derives nights until this transaction ends. */
export async function lockNights(sql: Sql): Promise<void> {
  await sql.query(EXCLUSIVE);
}

/** All present and former dates of these records. */
async function datesOf(sql: Sql, records: readonly SleepSession[]): Promise<readonly NightKey[]> {
  if (records.length === 0) return [];
  const { rows } = await sql.query<NightKey>(datesOfRecords, [
    texts(records.map(({ userId }) => userId)),
    unquoted(records.map(({ source }) => source)),
    texts(records.map(({ recordId }) => recordId)),
    texts(records.map(({ eventId }) => eventId)),
  ]);
  return rows;
}

function keysOf(sessions: readonly SleepSession[], ofRecords: readonly NightKey[]): NightKey[] {
  const keys = new Map<string, NightKey>();
  for (const { userId, date, eventId } of sessions)
    keys.set(`${userId}\n${date}`, { user_id: userId, date, event_id: eventId });
  for (const key of ofRecords) {
    const name = `${key.user_id}\n${key.date}`;
    if (!keys.has(name)) keys.set(name, key);
  }
  return [...keys].sort(([a], [b]) => (a < b ? -1 : 1)).map(([, key]) => key);
}
