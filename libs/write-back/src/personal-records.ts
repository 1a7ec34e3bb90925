import { Injectable } from '@nestjs/common';
import { Database, type Sql } from '#platform';

const PAGE = 100;
const AT_ONCE = 1_000;

interface Exported {
  readonly activity_id: string;
}

/** What the account exports and deletes of ours. */
@Injectable()
export class WriteBackRecords {
  readonly name = 'write_backs';
  readonly provider = 'strava';

  constructor(private readonly database: Database) {}

  async *read(athleteId: string): AsyncGenerator<readonly object[]> {
    const statement = `
      select activity_id, title, write_back.description, status, reason, write_back.created_at, finished_at
      from write_back
      join activity on activity.id = activity_id
      where athlete_id = $1 and ($2::uuid is null or activity_id > $2)
      order by activity_id
      limit $3`;
    let after: string | null = null;
    for (;;) {
      const { rows }: { rows: Exported[] } = await this.database.query<Exported>(statement, [
        athleteId,
        after,
        PAGE,
      ]);
      if (rows.length === 0) return;
      yield rows;
      after = (rows.at(-1) as Exported).activity_id;
    }
  }

  /** One that is being written finds its row gone, and writes nothing more. */
  async deleteSome(sql: Sql, athleteId: string): Promise<number> {
    const statement = `
      delete from write_back
      where activity_id in (
        select activity_id
        from write_back
        join activity on activity.id = activity_id
        where athlete_id = $1
        limit $2
      )`;
    const { count } = await sql.query(statement, [athleteId, AT_ONCE]);
    return count;
  }
}
