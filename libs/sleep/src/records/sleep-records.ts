import { Injectable } from '@nestjs/common';
import { Database, pagesByBytes, prepared, type Sql } from '#platform';
import { NATIVE_VENDORS, type NativeVendor } from '../contract/native-vendor.js';
import { Nights } from '../nights/nights.js';
import { type NightKey } from '../normalise/columns.js';
import { type NightSource } from '../normalise/session.js';
import { lockNights, rederiveNights } from '../normalise/sleep-store.js';
import { rememberErasure } from './erasures.js';

const deleteSessions = prepared(
  'delete sleep sessions',
  `
    -- Deletes some sessions and remembers the nights that came from them, so that the change is published.
    with gone as (
      delete from sleep_session
      where ctid in (select ctid from sleep_session where user_id = $1 and source = $2 limit $3)
      returning user_id, date, event_id
    ), unpublished as (
      insert into sleep_untold (user_id, date)
      select distinct sleep_data.user_id, sleep_data.date
      from gone
      join sleep_data using (user_id, date, event_id)
      on conflict (user_id, date) do update
      set because = excluded.because
    )
    select user_id, to_char(date, 'YYYY-MM-DD') as date, null as event_id
    from gone`,
);
const PAGE = 100;
const AT_ONCE = 1_000;

/** The user id of sleep events: the subject of the athlete's tokens. Null for an unknown athlete. */
export async function userIdOf(sql: Sql, athleteId: string): Promise<string | null> {
  const { rows } = await sql.query<{ subject: string }>('select subject from athlete where id = $1', [
    athleteId,
  ]);
  return rows[0]?.subject ?? null;
}

/** Exports an athlete's nights. They are deleted with the sessions that they are derived from. */
@Injectable()
class NightRecords {
  readonly name = 'sleep';
  readonly provider = null;

  constructor(
    private readonly database: Database,
    private readonly nights: Nights,
  ) {}

  async *read(athleteId: string): AsyncGenerator<readonly object[]> {
    const userId = await userIdOf(this.database, athleteId);
    if (userId === null) return;
    let cursor: string | undefined;
    do {
      const { items, next_cursor } = await this.nights.list(userId, { cursor, limit: PAGE });
      if (items.length > 0) yield items;
      cursor = next_cursor ?? undefined;
    } while (cursor !== undefined);
  }
}

/** Exports and deletes an athlete's sessions of one source. */
@Injectable()
abstract class SessionRecords {
  abstract readonly name: string;
  abstract readonly provider: string | null;
  protected abstract readonly source: NightSource;
  /** As `rememberErasure` takes it. */
  protected readonly receivedUntil: 'infinity' | null = null;

  constructor(private readonly database: Database) {}

  read(athleteId: string): AsyncIterable<readonly object[]> {
    const statement = `
      select
        record_id, to_char(date, 'YYYY-MM-DD') as date, vendor, duration_minutes, quality_score, nap, state, captured_at,
        raw::json as raw, coalesce(octet_length(raw), 0) as bytes
      from sleep_session
      where user_id = (select subject from athlete where id = $1)
        and source = '${this.source}'
        and ($2::text is null or record_id > $2)
      order by record_id
      limit $3`;
    return pagesByBytes(this.database, statement, { athleteId, by: 'record_id', size: PAGE });
  }

  /** Deletes some sessions and derives their nights again from the other sessions. `UnpublishedNights` publishes the changed nights. */
  async deleteSome(sql: Sql, athleteId: string): Promise<number> {
    const userId = await userIdOf(sql, athleteId);
    if (userId === null) return 0;
    await lockNights(sql);
    await rememberErasure(sql, userId, this.source, this.receivedUntil);
    const { rows } = await sql.query<NightKey>(deleteSessions, [userId, this.source, AT_ONCE]);
    const dates = new Map(rows.map((row) => [row.date, row]));
    await rederiveNights(sql, [...dates.values()]);
    return rows.length;
  }
}

/** The sleep sessions that clients sent. Until `SleepRemains` has asked NATS for the time, no session of this person is stored. */
@Injectable()
export class IngestedSleepRecords extends SessionRecords {
  override readonly name = 'sleep_ingested';
  override readonly provider = null;
  protected override readonly source = 'ingest';
  protected override readonly receivedUntil = 'infinity';
}

/** The sleep sessions that we fetched from a vendor. */
export function sleepRecordsOf(vendor: NativeVendor) {
  @Injectable()
  class VendorSleepRecords extends SessionRecords {
    override readonly name = `sleep_${vendor}`;
    override readonly provider = vendor;
    protected override readonly source = vendor;
  }
  return VendorSleepRecords;
}

/** All records of this lib, in the order of export and deletion. */
export const sleepRecords = [NightRecords, IngestedSleepRecords, ...NATIVE_VENDORS.map(sleepRecordsOf)];
