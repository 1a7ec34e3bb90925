import { Injectable } from '@nestjs/common';
import { Database, type Sql } from '#platform';

// A day of one sample a second and ten channels is some 8 MB of JSON.
const PAGE = 5;
const AT_ONCE = 200;

interface Exported {
  readonly activity_id: string;
}

/** What the account exports and deletes of ours. */
@Injectable()
export class StreamRecords {
  readonly name = 'streams';
  readonly provider = 'strava';

  constructor(private readonly database: Database) {}

  async *read(athleteId: string): AsyncGenerator<readonly Exported[]> {
    const statement = `
      select activity_id, external_activity_id, source, fetched_at, point_count, channels_available, stream_data
      from activity_stream
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

  /** Their activities follow, or an attempt under way could store them again. */
  async deleteSome(sql: Sql, athleteId: string): Promise<number> {
    const statement = `
      delete from activity_stream
      where id in (
        select activity_stream.id
        from activity_stream
        join activity on activity.id = activity_id
        where athlete_id = $1
        limit $2
      )`;
    const { count } = await sql.query(statement, [athleteId, AT_ONCE]);
    return count;
  }
}
