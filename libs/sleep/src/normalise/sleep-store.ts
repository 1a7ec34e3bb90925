import { Injectable } from '@nestjs/common';
import { Database, loadSql, type Sql } from '#platform';
import { type Vendor } from '../contract/sleep-normalized-stored.js';
import { numbers, texts, words } from './column.js';
import { type SleepSession } from './session.js';

export const saveSessions = loadSql(import.meta.url, './sql/save-sessions.sql');
const deriveNights = loadSql(import.meta.url, './sql/derive-nights.sql');
const overtakenNights = loadSql(import.meta.url, './sql/overtaken-nights.sql');
const datesOfRecords = loadSql(import.meta.url, './sql/dates-of-records.sql');

// What clients say about a date is one record, so batches of it need not wait for each other. A vendor's records of one
// date are several, and whoever weighs them has to see them all.
const ALONGSIDE = "select pg_advisory_xact_lock_shared(hashtextextended('sleep nights', 0))";
const ALONE = "select pg_advisory_xact_lock(hashtextextended('sleep nights', 0))";

/** A date of a user, and the event that is thought to have made its night; none: that there is no night. */
export interface NightKey {
  readonly user_id: string;
  readonly date: string;
  readonly event_id: string | null;
}

export interface Night {
  readonly user_id: string;
  readonly date: string;
  /** Null, like all that follows: there is no night. */
  readonly event_id: string | null;
  readonly duration_minutes: number;
  readonly quality_score: number | null;
  readonly vendor: Vendor;
  readonly captured_at: Date;
  readonly changed: boolean;
}

export interface Saved {
  readonly keys: readonly NightKey[];
  /** The nights among them that another event than the one in the key has made, or none. */
  readonly others: readonly Night[];
}

/** The sessions and the nights that follow from them. Nothing older ever overwrites what is newer. */
@Injectable()
export class SleepStore {
  constructor(private readonly database: Database) {}

  /** Of each record the newest, in the order of the keys. */
  save(sessions: readonly SleepSession[]): Promise<Saved> {
    const records = sessions.filter(({ source }) => source !== 'ingest');
    return this.database.transaction(async (sql) => {
      await sql.query(records.length > 0 ? ALONE : ALONGSIDE);
      await sql.query(saveSessions, columnsOf(sessions));
      const keys = keysOf(sessions, await standing(sql, records));
      const { rows } = await sql.query<Night>(deriveNights, keyColumns(keys));
      return { keys, others: rows };
    });
  }

  /** Which of these nights are not any more as they have been told. */
  async overtaken(told: readonly NightKey[]): Promise<readonly Night[]> {
    const { rows } = await this.database.query<Night>(overtakenNights, keyColumns(told));
    return rows;
  }
}

/** For a deletion: the nights of these dates without what is gone. */
export async function deriveNightsAnew(sql: Sql, dates: readonly NightKey[]): Promise<void> {
  await sql.query(deriveNights, keyColumns(dates));
}

/** Until the end of the transaction nobody else derives nights. */
export async function deriveAlone(sql: Sql): Promise<void> {
  await sql.query(ALONE);
}

/** All dates on which these records stand or have stood. */
async function standing(sql: Sql, records: readonly SleepSession[]): Promise<readonly NightKey[]> {
  if (records.length === 0) return [];
  const { rows } = await sql.query<NightKey>(datesOfRecords, [
    texts(records.map(({ userId }) => userId)),
    words(records.map(({ source }) => source)),
    texts(records.map(({ recordId }) => recordId)),
    texts(records.map(({ eventId }) => eventId)),
  ]);
  return rows;
}

function keysOf(sessions: readonly SleepSession[], standing: readonly NightKey[]): NightKey[] {
  const keys = new Map<string, NightKey>();
  for (const { userId, date, eventId } of sessions)
    keys.set(`${userId}\n${date}`, { user_id: userId, date, event_id: eventId });
  for (const key of standing) {
    const name = `${key.user_id}\n${key.date}`;
    if (!keys.has(name)) keys.set(name, key);
  }
  return [...keys].sort(([a], [b]) => (a < b ? -1 : 1)).map(([, key]) => key);
}

function keyColumns(keys: readonly NightKey[]): string[] {
  return [
    texts(keys.map(({ user_id }) => user_id)),
    words(keys.map(({ date }) => date)),
    texts(keys.map(({ event_id }) => event_id)),
  ];
}

export function columnsOf(sessions: readonly SleepSession[]): string[] {
  return [
    texts(sessions.map(({ userId }) => userId)),
    words(sessions.map(({ source }) => source)),
    texts(sessions.map(({ recordId }) => recordId)),
    words(sessions.map(({ date }) => date)),
    words(sessions.map(({ vendor }) => vendor)),
    numbers(sessions.map(({ durationMinutes }) => durationMinutes)),
    numbers(sessions.map(({ qualityScore }) => qualityScore)),
    numbers(sessions.map(({ nap }) => nap)),
    words(sessions.map(({ state }) => state)),
    numbers(sessions.map(({ revision }) => revision)),
    numbers(sessions.map(({ capturedAtMs }) => capturedAtMs)),
    numbers(sessions.map(({ payloadHash }) => payloadHash)),
    texts(sessions.map(({ eventId }) => eventId)),
    texts(sessions.map(({ raw }) => raw)),
    numbers(sessions.map(({ receivedAtMs }) => receivedAtMs)),
  ];
}
