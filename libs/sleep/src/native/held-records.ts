import { hash } from 'node:crypto';
import { Injectable } from '@nestjs/common';
import { Database } from '#platform';
import { type SleepRecord } from '#vendors';
import { type NativeVendor } from '../contract/native-vendor.js';
import { completenessOf, type SessionState } from '../normalise/session.js';
import { type Payload } from './vendor-records.js';

/** A vendor's record as our database has it. */
export interface HeldRecord {
  readonly record_id: string;
  readonly revision: number;
  readonly captured_at: Date;
  readonly state: SessionState;
  readonly quality_score: number | null;
  readonly date: string;
  /** MD5 of the vendor's document as it is stored. */
  readonly content: string | null;
  readonly is_of_dates: boolean;
}

interface Dates {
  readonly from: string;
  readonly to: string;
}

/** Reads the records of vendors that we have. */
@Injectable()
export class HeldRecords {
  constructor(private readonly database: Database) {}

  /** The records with these ids, and all records of these dates. */
  async find(
    userId: string,
    vendor: NativeVendor,
    ids: readonly string[],
    dates?: Dates,
  ): Promise<readonly HeldRecord[]> {
    const statement = `
      select
        record_id, revision::float8 as revision, captured_at, state, quality_score, to_char(date, 'YYYY-MM-DD') as date,
        md5(raw) as content, coalesce(date between $4::date and $5::date, false) as is_of_dates
      from sleep_session
      where user_id = $1 and source = $2 and (record_id = any($3::text[]) or date between $4::date and $5::date)`;
    const values = [userId, vendor, ids, dates?.from, dates?.to];
    return (await this.database.query<HeldRecord>(statement, values)).rows;
  }
}

/** Like the guard of save-sessions.sql, but without the hash: a record that we have is not published again. */
export function isNewer(record: SleepRecord, { raw }: Payload, held: HeldRecord | undefined): boolean {
  if (!held) return true;
  const { revision, updatedAt } = record;
  if (revision !== held.revision) return revision > held.revision;
  if (!updatedAt) return hash('md5', JSON.stringify(raw)) !== held.content;
  const laterMs = updatedAt.getTime() - held.captured_at.getTime();
  if (laterMs !== 0) return laterMs > 0;
  const ours = { state: held.state, qualityScore: held.quality_score };
  return completenessOf(record) > completenessOf(ours);
}
