import { Injectable } from '@nestjs/common';
import { Database, loadSql, type Sql } from '#platform';
import { deriveAlone, deriveNightsAnew, type NightKey } from '../normalise/sleep-store.js';
import { type Source } from '../normalise/session.js';
import { subjectOf } from './subject-of.js';

const deleteSessions = loadSql(import.meta.url, './sql/delete-sessions.sql');
const PAGE = 100;
const AT_ONCE = 1_000;

// Events of before are refused from now on; those of after are welcome.
const ERASE = `
  insert into sleep_erasure (user_id, source, erased_at)
  values ($1, $2, clock_timestamp())
  on conflict (user_id, source) do update set erased_at = excluded.erased_at`;

/** What the account exports and deletes of the sessions that came by one way. */
@Injectable()
abstract class SessionRecords {
  abstract readonly name: string;
  abstract readonly provider: string | null;
  protected abstract readonly source: Source;

  constructor(private readonly database: Database) {}

  async *read(athleteId: string): AsyncGenerator<readonly object[]> {
    const userId = await subjectOf(this.database, athleteId);
    for (let after = ''; ;) {
      const { rows } = await this.database.query<{ record_id: string }>(
        `select
           record_id, to_char(date, 'YYYY-MM-DD') as date, vendor, duration_minutes, quality_score, nap, state, captured_at, raw
         from sleep_session
         where user_id = $1 and source = $2 and record_id > $3
         order by record_id
         limit $4`,
        [userId, this.source, after, PAGE],
      );
      if (rows.length === 0) return;
      yield rows;
      after = rows.at(-1)?.record_id ?? '';
    }
  }

  /** The nights that rest on them go with them, or rest on what is left; `Untold` tells of it. */
  async deleteSome(sql: Sql, athleteId: string): Promise<number> {
    const userId = await subjectOf(sql, athleteId);
    if (userId === null) return 0;
    await deriveAlone(sql);
    await sql.query(ERASE, [userId, this.source]);
    const { rows } = await sql.query<NightKey>(deleteSessions, [userId, this.source, AT_ONCE]);
    const dates = new Map(rows.map((row) => [row.date, row]));
    await deriveNightsAnew(sql, [...dates.values()]);
    return rows.length;
  }
}

@Injectable()
export class IngestedSleepRecords extends SessionRecords {
  override readonly name = 'sleep_ingested';
  override readonly provider = null;
  protected override readonly source = 'ingest';
}

@Injectable()
export class OuraSleepRecords extends SessionRecords {
  override readonly name = 'sleep_oura';
  override readonly provider = 'oura';
  protected override readonly source = 'oura';
}

@Injectable()
export class WhoopSleepRecords extends SessionRecords {
  override readonly name = 'sleep_whoop';
  override readonly provider = 'whoop';
  protected override readonly source = 'whoop';
}
