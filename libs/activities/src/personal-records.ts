import { Injectable } from '@nestjs/common';
import { Database, pagesOf, type Sql } from '#platform';
import { SAME_AS } from './same-as.js';

const PAGE = 100;
const AT_ONCE = 1_000;

interface ActivityPhotos {
  readonly id: string;
  readonly provider: string;
  readonly external_activity_id: string;
  readonly photos: readonly object[];
}

/** Exports and deletes an athlete's activities. */
@Injectable()
class ActivityRecords {
  readonly name = 'activities';
  readonly provider = 'any';

  constructor(private readonly database: Database) {}

  read(athleteId: string): AsyncIterable<readonly object[]> {
    const statement = `
      select
        id, provider, external_activity_id, name, sport_type, start_time, utc_offset_s, timezone, distance_m, moving_time_s,
        elapsed_time_s, elevation_gain_m, average_heartrate, max_heartrate, manual, private, description, calories,
        polyline, summary_polyline, laps, splits, asked_at as fetched_at, ${SAME_AS} as same_as
      from activity
      where athlete_id = $1 and ($2::uuid is null or id > $2)
      order by id
      limit $3`;
    return pagesOf(this.database, statement, { athleteId, by: 'id', size: PAGE });
  }

  async deleteSome(sql: Sql, athleteId: string, _: unknown, provider: string | null): Promise<number> {
    const statement = `
      delete from activity
      where id in (select id from activity where athlete_id = $1 and ($3::text is null or provider = $3) limit $2)`;
    const { count } = await sql.query(statement, [athleteId, AT_ONCE, provider]);
    return count;
  }
}

/** Exports an athlete's photos, and deletes the photos from the rows of the activities. */
@Injectable()
class PhotoRecords {
  readonly name = 'photos';
  readonly provider = 'any';

  constructor(private readonly database: Database) {}

  async *read(athleteId: string): AsyncGenerator<readonly object[]> {
    const statement = `
      select id, provider, external_activity_id, photos
      from activity
      where athlete_id = $1 and photos <> '[]' and ($2::uuid is null or id > $2)
      order by id
      limit $3`;
    for await (const page of pagesOf<ActivityPhotos, 'id'>(this.database, statement, {
      athleteId,
      by: 'id',
      size: PAGE,
    }))
      yield page.flatMap(({ id, provider, external_activity_id, photos }) =>
        photos.map((photo) => ({ activity_id: id, provider, external_activity_id, ...photo })),
      );
  }

  /** Returns how many photos were deleted, not how many activities were changed. */
  async deleteSome(sql: Sql, athleteId: string, _: unknown, provider: string | null): Promise<number> {
    const statement = `
      with chosen as (
        select id, jsonb_array_length(photos) as photos
        from activity
        where athlete_id = $1 and ($3::text is null or provider = $3) and photos <> '[]'
        limit $2
      ), emptied as (
        update activity set photos = '[]', photos_status = 'none' from chosen where activity.id = chosen.id
      )
      select coalesce(sum(photos), 0)::int as photos from chosen`;
    const { rows } = await sql.query<{ photos: number }>(statement, [athleteId, AT_ONCE, provider]);
    return rows[0]?.photos ?? 0;
  }
}

/** Exports an athlete's imports. Deletes the imports together with the sync state and the tombstones. */
@Injectable()
class ImportRecords {
  readonly name = 'imports';
  readonly provider = 'any';

  constructor(private readonly database: Database) {}

  read(athleteId: string): AsyncIterable<readonly object[]> {
    const statement = `
      select id, provider, type, status, since, sync_cursor, activities_total, created_at, started_at, finished_at
      from import_jobs
      where athlete_id = $1 and ($2::uuid is null or id > $2)
      order by id
      limit $3`;
    return pagesOf(this.database, statement, { athleteId, by: 'id', size: PAGE });
  }

  /** A running import no longer finds its row, and ends. */
  async deleteSome(sql: Sql, athleteId: string, _: unknown, provider: string | null): Promise<number> {
    const ofVendor = 'athlete_id = $1 and ($2::text is null or provider = $2)';
    const values = [athleteId, provider];
    const { count } = await sql.query(`delete from import_jobs where ${ofVendor}`, values);
    await sql.query(`delete from activity_sync where ${ofVendor}`, values);
    await sql.query(`delete from activity_tombstone where ${ofVendor}`, values);
    return count;
  }
}

/** In the order of their deletion: photos are counted before their activities are deleted. */
export const personalRecords = [PhotoRecords, ActivityRecords, ImportRecords];
