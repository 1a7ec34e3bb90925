import { Injectable } from '@nestjs/common';
import { Database, type Sql } from '#platform';

const PAGE = 100;
const AT_ONCE = 1_000;

interface WithPhotos {
  readonly id: string;
  readonly external_activity_id: string;
  readonly photos: readonly object[];
}

/** What the account exports and deletes of ours. */
@Injectable()
export class ActivityRecords {
  readonly name = 'activities';
  readonly provider = 'strava';

  constructor(private readonly database: Database) {}

  read(athleteId: string): AsyncIterable<readonly object[]> {
    const statement = `
      select
        id, provider, external_activity_id, name, sport_type, start_time, utc_offset_s, timezone, distance_m, moving_time_s,
        elapsed_time_s, elevation_gain_m, average_heartrate, max_heartrate, manual, private, description, calories,
        polyline, summary_polyline, laps, splits, asked_at as fetched_at
      from activity
      where athlete_id = $1 and ($2::uuid is null or id > $2)
      order by id
      limit $3`;
    return pages(this.database, athleteId, statement);
  }

  async deleteSome(sql: Sql, athleteId: string): Promise<number> {
    const statement = `
      delete from activity
      where id in (select id from activity where athlete_id = $1 limit $2)`;
    const { count } = await sql.query(statement, [athleteId, AT_ONCE]);
    return count;
  }
}

@Injectable()
export class PhotoRecords {
  readonly name = 'photos';
  readonly provider = 'strava';

  constructor(private readonly database: Database) {}

  async *read(athleteId: string): AsyncGenerator<readonly object[]> {
    const statement = `
      select id, external_activity_id, photos
      from activity
      where athlete_id = $1 and photos <> '[]' and ($2::uuid is null or id > $2)
      order by id
      limit $3`;
    for await (const page of pages<WithPhotos>(this.database, athleteId, statement))
      yield page.flatMap(({ id, external_activity_id, photos }) =>
        photos.map((photo) => ({ activity_id: id, external_activity_id, ...photo })),
      );
  }

  /** They stand in their activity's row; what counts is that they are gone. */
  async deleteSome(sql: Sql, athleteId: string): Promise<number> {
    const statement = `
      with chosen as (
        select id, jsonb_array_length(photos) as photos
        from activity
        where athlete_id = $1 and photos <> '[]'
        limit $2
      ), emptied as (
        update activity set photos = '[]', photos_status = 'none' from chosen where activity.id = chosen.id
      )
      select coalesce(sum(photos), 0)::int as photos from chosen`;
    const { rows } = await sql.query<{ photos: number }>(statement, [athleteId, AT_ONCE]);
    return rows[0]?.photos ?? 0;
  }
}

@Injectable()
export class ImportRecords {
  readonly name = 'imports';
  readonly provider = 'strava';

  constructor(private readonly database: Database) {}

  read(athleteId: string): AsyncIterable<readonly object[]> {
    const statement = `
      select id, type, status, since, sync_cursor, activities_total, created_at, started_at, finished_at
      from import_jobs
      where athlete_id = $1 and ($2::uuid is null or id > $2)
      order by id
      limit $3`;
    return pages(this.database, athleteId, statement);
  }

  /** With everything else that says how far we were. A running import finds its row gone, and ends. */
  async deleteSome(sql: Sql, athleteId: string): Promise<number> {
    const { count } = await sql.query('delete from import_jobs where athlete_id = $1', [athleteId]);
    await sql.query('delete from strava_sync where athlete_id = $1', [athleteId]);
    await sql.query('delete from activity_tombstone where athlete_id = $1', [athleteId]);
    return count;
  }
}

async function* pages<Row extends { readonly id: string }>(
  database: Database,
  athleteId: string,
  statement: string,
): AsyncGenerator<readonly Row[]> {
  let after: string | null = null;
  for (;;) {
    const { rows }: { rows: Row[] } = await database.query<Row>(statement, [athleteId, after, PAGE]);
    if (rows.length === 0) return;
    yield rows;
    after = (rows.at(-1) as Row).id;
  }
}

/** In the order of their deletion: photos are counted while their activities are there. */
export const personalRecords = [PhotoRecords, ActivityRecords, ImportRecords];
