import { Injectable } from '@nestjs/common';
import { Database, pagesOf, type Sql } from '#platform';

const PAGE = 100;
const AT_ONCE = 1_000;

/** Exports and deletes an athlete's write-backs. */
@Injectable()
export class WriteBackRecords {
  readonly name = 'write_backs';
  readonly provider = 'any';

  constructor(private readonly database: Database) {}

  read(athleteId: string): AsyncIterable<readonly object[]> {
    const statement = `
      select activity_id, title, write_back.description, status, reason, write_back.created_at, finished_at
      from write_back
      join activity on activity.athlete_id = write_back.athlete_id and activity.id = activity_id
      where activity.athlete_id = $1 and ($2::uuid is null or activity_id > $2)
      order by activity_id
      limit $3`;
    return pagesOf(this.database, statement, { athleteId, by: 'activity_id', size: PAGE });
  }

  /** A write-back under way finds its row gone and records nothing more. */
  async deleteSome(sql: Sql, athleteId: string, _: unknown, provider: string | null): Promise<number> {
    const statement = `
      delete from write_back
      where athlete_id = $1 and activity_id in (
        select activity_id
        from write_back
        join activity on activity.athlete_id = write_back.athlete_id and activity.id = activity_id
        where activity.athlete_id = $1 and ($3::text is null or provider = $3)
        limit $2
      )`;
    const { count } = await sql.query(statement, [athleteId, AT_ONCE, provider]);
    return count;
  }
}
