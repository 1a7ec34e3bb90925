import { Injectable } from '@nestjs/common';
import { Database, loadSql, NotFound } from '#platform';
import { type NightVendor } from '../contract/night-events.js';
import { type NightSource, type SessionState } from '../normalise/session.js';

const findRecords = loadSql(import.meta.url, './sql/find-records.sql');

export const RECORD_REASONS = [
  'longest',
  'nap',
  'unscored',
  'deleted',
  'vendor_preferred',
  'shorter',
  'older',
] as const;

/**
 * Why a record is the night, or why not.
 *
 * | reason             | the record                                                                          |
 * | ------------------ | ----------------------------------------------------------------------------------- |
 * | `longest`          | is the night                                                                        |
 * | `nap`              | is a nap by its vendor                                                              |
 * | `unscored`         | is not scored yet                                                                   |
 * | `deleted`          | was deleted at the vendor                                                           |
 * | `vendor_preferred` | was sent by an app, and a vendor has a record of its own                            |
 * | `shorter`          | is shorter than the night                                                           |
 * | `older`            | is as long as the night, and was captured earlier or at the same time               |
 */
type RecordReason = (typeof RECORD_REASONS)[number];

/** One record of a date. */
interface RecordView {
  /** Null: an app sent the record and named no vendor. */
  readonly provider: NightVendor | null;
  readonly external_id: string;
  /** Null if the vendor's record does not name it. */
  readonly start: string | null;
  readonly end: string | null;
  readonly duration_minutes: number;
  readonly score: number | null;
  readonly captured_at: Date;
  readonly is_chosen: boolean;
  readonly reason: RecordReason;
}

interface NightWithRecords {
  readonly date: string;
  /** Null if no record can be the night. */
  readonly duration_minutes: number | null;
  readonly quality_score: number | null;
  readonly vendor: NightVendor | null;
  readonly captured_at: Date | null;
  readonly records: readonly RecordView[];
}

interface RecordRow {
  readonly source: NightSource;
  readonly record_id: string;
  readonly vendor: NightVendor;
  readonly duration_minutes: number;
  readonly quality_score: number | null;
  readonly nap: boolean;
  readonly state: SessionState;
  readonly captured_at: Date;
  readonly raw: string | null;
}

/** Reads one night of a user with all records of its date, the chosen one first. */
@Injectable()
export class NightRecords {
  constructor(private readonly database: Database) {}

  /** Throws NotFound if the date has no record, or only deleted ones. */
  async find(userId: string, date: string): Promise<NightWithRecords> {
    const { rows } = await this.database.query<RecordRow>(findRecords, [userId, date]);
    if (rows.every(({ state }) => state === 'deleted')) throw new NotFound('There is no night of this date');
    const night = rows[0] && reasonAgainst(rows[0]) === undefined ? rows[0] : undefined;
    return {
      date,
      duration_minutes: night?.duration_minutes ?? null,
      quality_score: night?.quality_score ?? null,
      vendor: night?.vendor ?? null,
      captured_at: night?.captured_at ?? null,
      records: rows.map((row) => viewOf(row, night)),
    };
  }
}

function viewOf(row: RecordRow, night: RecordRow | undefined): RecordView {
  return {
    provider: row.vendor === 'unknown' ? null : row.vendor,
    external_id: row.record_id,
    ...spanOf(row.raw),
    duration_minutes: row.duration_minutes,
    score: row.quality_score,
    captured_at: row.captured_at,
    is_chosen: row === night,
    reason: reasonOf(row, night),
  };
}

/** Must name the rule of derive-nights.sql that decided. */
function reasonOf(row: RecordRow, night: RecordRow | undefined): RecordReason {
  const against = reasonAgainst(row);
  if (against) return against;
  if (!night || row === night) return 'longest';
  if (row.source === 'ingest' && night.source !== 'ingest') return 'vendor_preferred';
  return row.duration_minutes < night.duration_minutes ? 'shorter' : 'older';
}

/** Why this record cannot be a night at all. */
function reasonAgainst({ state, nap }: RecordRow): RecordReason | undefined {
  if (state === 'deleted') return 'deleted';
  if (nap) return 'nap';
  return state === 'pending' ? 'unscored' : undefined;
}

// The names under which vendors' records have their times.
const SPANS = [
  ['bedtime_start', 'bedtime_end'],
  ['sleep_start_time', 'sleep_end_time'],
  ['start', 'end'],
] as const;

function spanOf(raw: string | null): Pick<RecordView, 'start' | 'end'> {
  const document = (raw === null ? {} : JSON.parse(raw)) as Readonly<Record<string, unknown>>;
  for (const [from, to] of SPANS) {
    const [start, end] = [momentOf(document[from]), momentOf(document[to])];
    if (start && end) return { start, end };
  }
  return { start: null, end: null };
}

/** An app may have sent anything under these names. */
function momentOf(value: unknown): string | undefined {
  const ms = typeof value === 'string' ? Date.parse(value) : NaN;
  return Number.isNaN(ms) ? undefined : new Date(ms).toISOString();
}
