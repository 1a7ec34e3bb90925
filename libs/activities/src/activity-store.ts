import { Injectable } from '@nestjs/common';
import { type DetailedActivity, type Photo, type SummaryActivity } from '#strava';
import { loadSql, type Sql } from '#platform';

const saveSummaries = loadSql(import.meta.url, './sql/save-summaries.sql');
const saveDetail = loadSql(import.meta.url, './sql/save-detail.sql');

/** A row that still lacks something the vendor has. */
export interface Pending {
  readonly id: string;
  readonly external_activity_id: string;
}

/** Which of them: an athlete's, from a moment on, without those that have just failed. */
export interface Wanted {
  readonly athleteId: string;
  readonly since: Date | null;
  readonly except: readonly string[];
}

export type Part = 'detail' | 'photos';

/** The rows of activities, as the vendor's answers make them. Every write may happen twice, in any order. */
@Injectable()
export class ActivityStore {
  /** `askedAt`: when the vendor was asked, so that an answer overtaken by a later one changes nothing. */
  async saveSummaries(
    sql: Sql,
    athleteId: string,
    summaries: readonly SummaryActivity[],
    askedAt: Date,
  ): Promise<void> {
    const unique = [...new Map(summaries.map((summary) => [summary.id, summary])).values()];
    await sql.query(saveSummaries, [
      athleteId,
      askedAt,
      unique.map(({ id }) => id),
      unique.map(({ name }) => name),
      unique.map(({ sportType }) => sportType),
      unique.map(({ startTime }) => startTime),
      unique.map(({ utcOffsetS }) => utcOffsetS),
      unique.map(({ timezone }) => timezone),
      unique.map(({ distanceM }) => distanceM),
      unique.map(({ movingTimeS }) => movingTimeS),
      unique.map(({ elapsedTimeS }) => elapsedTimeS),
      unique.map(({ elevationGainM }) => elevationGainM),
      unique.map(({ averageHeartrate }) => averageHeartrate),
      unique.map(({ maxHeartrate }) => maxHeartrate),
      unique.map(({ manual }) => manual),
      unique.map((summary) => summary.private),
      unique.map(({ totalPhotoCount }) => totalPhotoCount),
      unique.map(({ map }) => map?.summaryPolyline ?? null),
    ]);
  }

  async saveDetail(sql: Sql, athleteId: string, detail: DetailedActivity, askedAt: Date): Promise<void> {
    await this.saveSummaries(sql, athleteId, [detail], askedAt);
    const { id, description, calories, map, laps, splits } = detail;
    const json = [JSON.stringify(laps), JSON.stringify(splits)];
    const polyline = map?.polyline ?? null;
    await sql.query(saveDetail, [athleteId, id, askedAt, description, calories, polyline, ...json]);
  }

  async savePhotos(sql: Sql, id: string, photos: readonly Photo[]): Promise<void> {
    const statement = `
      update activity
      set photos_status = 'stored', photos = $2, photos_attempts = 0, photos_retry_at = null, photos_error = null, updated_at = now()
      where id = $1`;
    await sql.query(statement, [id, JSON.stringify(photos.map(toStored))]);
  }

  async nextPending(
    sql: Sql,
    part: Part,
    { athleteId, since, except }: Wanted,
  ): Promise<Pending | undefined> {
    const text = `
      select id, external_activity_id
      from activity
      where athlete_id = $1
        and ${part}_status = 'pending'
        and external_activity_id is not null
        and start_time >= coalesce($2, '-infinity'::timestamptz)
        and (${part}_retry_at is null or ${part}_retry_at <= clock_timestamp())
        and not external_activity_id = any ($3)
      order by start_time desc
      limit 1`;
    const statement = { name: `next pending ${part}`, text };
    const { rows } = await sql.query<Pending>(statement, [athleteId, since, except]);
    return rows[0];
  }

  async pendingPhotosOf(sql: Sql, athleteId: string, externalId: string): Promise<Pending | undefined> {
    const { rows } = await sql.query<Pending>(
      `select id, external_activity_id
       from activity
       where athlete_id = $1 and provider = 'strava' and external_activity_id = $2 and photos_status = 'pending'`,
      [athleteId, externalId],
    );
    return rows[0];
  }

  async oldestPending(sql: Sql, athleteId: string): Promise<Date | undefined> {
    const { rows } = await sql.query<{ oldest: Date | null }>(
      `select min(start_time) as oldest
       from activity
       where athlete_id = $1 and (detail_status = 'pending' or photos_status = 'pending')`,
      [athleteId],
    );
    return rows[0]?.oldest ?? undefined;
  }

  /** It is tried again after the first delay, then after the second, then no more. */
  async failed(
    sql: Sql,
    id: string,
    part: Part,
    error: string,
    retryAfterMs: readonly number[],
  ): Promise<void> {
    const statement = `
      update activity
      set
        ${part}_attempts = ${part}_attempts + 1,
        ${part}_error = $2,
        ${part}_status = case when ${part}_attempts < cardinality($3::float8[]) then 'pending' else 'set_aside' end,
        ${part}_retry_at = clock_timestamp() + ($3::float8[])[${part}_attempts + 1] * interval '1 millisecond'
      where id = $1
        and ${part}_status = 'pending'`;
    await sql.query(statement, [id, error, retryAfterMs]);
  }

  /** Not its fault, as far as we know: later, and not counted. */
  async postpone(sql: Sql, id: string, part: Part, forMs: number): Promise<void> {
    const statement = `
      update activity
      set ${part}_retry_at = clock_timestamp() + $2 * interval '1 millisecond'
      where id = $1
        and ${part}_status = 'pending'`;
    await sql.query(statement, [id, forMs]);
  }

  async setAside(sql: Sql, id: string, part: Part, error: string): Promise<void> {
    const statement = `
      update activity
      set ${part}_status = 'set_aside', ${part}_error = $2, ${part}_retry_at = null
      where id = $1
        and ${part}_status = 'pending'`;
    await sql.query(statement, [id, error]);
  }

  async syncedSince(sql: Sql, athleteId: string, startedAt: Date): Promise<void> {
    await sql.query(
      `insert into strava_sync (athlete_id, last_strava_sync_at)
       values ($1, $2)
       on conflict (athlete_id)
       do update set last_strava_sync_at = greatest(strava_sync.last_strava_sync_at, excluded.last_strava_sync_at)`,
      [athleteId, startedAt],
    );
  }

  /** What was once set aside gets another chance with a new import. */
  async reopenSetAside(sql: Sql, athleteId: string): Promise<void> {
    await sql.query(
      `update activity
       set detail_status = 'pending', detail_attempts = 0, detail_retry_at = null, detail_error = null
       where athlete_id = $1 and detail_status = 'set_aside'`,
      [athleteId],
    );
    await sql.query(
      `update activity
       set photos_status = 'pending', photos_attempts = 0, photos_retry_at = null, photos_error = null
       where athlete_id = $1 and photos_status = 'set_aside'`,
      [athleteId],
    );
  }

  /**
   * Deleted at the vendor. Only a create that the vendor dates later brings it back. For a transaction that is alone with the
   * athlete: whoever stores a page that was listed before waits, or is waited for.
   */
  async remove(sql: Sql, athleteId: string, externalId: string, deletedAt: Date): Promise<void> {
    await sql.query(
      `insert into activity_tombstone (athlete_id, provider, external_activity_id, deleted_at)
       values ($1, 'strava', $2, $3)
       on conflict (athlete_id, provider, external_activity_id)
       do update set deleted_at = greatest(activity_tombstone.deleted_at, excluded.deleted_at)`,
      [athleteId, externalId, deletedAt],
    );
    await sql.query(
      `delete from activity where athlete_id = $1 and provider = 'strava' and external_activity_id = $2`,
      [athleteId, externalId],
    );
  }

  async forgetTombstoneBefore(
    sql: Sql,
    athleteId: string,
    externalId: string,
    createdAt: Date,
  ): Promise<void> {
    await sql.query(
      `delete from activity_tombstone
       where athlete_id = $1 and provider = 'strava' and external_activity_id = $2 and deleted_at < $3`,
      [athleteId, externalId, createdAt],
    );
  }

  async isBuried(sql: Sql, athleteId: string, externalId: string): Promise<boolean> {
    const { count } = await sql.query(
      `select 1 from activity_tombstone where athlete_id = $1 and provider = 'strava' and external_activity_id = $2`,
      [athleteId, externalId],
    );
    return count > 0;
  }
}

/** As the api shows it. */
function toStored({ id, urls, caption, takenAt, location, isDefault }: Photo): object {
  return { id, urls, caption, taken_at: takenAt, location, is_default: isDefault };
}
