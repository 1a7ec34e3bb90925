import { Injectable } from '@nestjs/common';
import { loadSql, type Sql } from '#platform';
import {
  type ActivityPage,
  type DetailedActivity,
  type Photo,
  type SummaryActivity,
  type VendorId,
  vendorsWith,
} from '#vendors';

const saveSummaries = loadSql(import.meta.url, './sql/save-summaries.sql');
const saveDetails = loadSql(import.meta.url, './sql/save-details.sql');

/** An athlete's activities at one vendor. Ids of two vendors may be equal. */
export interface ActivityOwner {
  readonly athleteId: string;
  readonly provider: VendorId;
}

/** A row whose detail or photos are still to be fetched. */
export interface Pending {
  readonly id: string;
  readonly external_activity_id: string;
}

/** A row read before the call to the vendor. `asked_at` is the database's time of that read; the vendor's answer counts as of then. */
export interface PendingNow extends Pending {
  readonly asked_at: Date;
}

/** Selects an athlete's activities at a vendor that began since a time, without those that have just failed. */
interface PendingFilter extends ActivityOwner {
  readonly since: Date | null;
  readonly except: readonly string[];
}

interface Synced {
  readonly athlete_id: string;
  readonly provider: VendorId;
  readonly created_at: Date;
  readonly since: Date | null;
}

/** The row of a detail that has been stored, and its parts that are fetched apart from it. */
export interface SavedDetail {
  readonly id: string;
  readonly photos_status: string;
  readonly stream_fetch_status: string;
}

/** A photo as the api returns it. */
export interface StoredPhoto {
  readonly id: string;
  readonly urls: Readonly<Record<string, string>>;
  readonly caption: string | null;
  readonly taken_at: string | null;
  readonly location: readonly [latitude: number, longitude: number] | null;
  readonly is_default: boolean;
}

type PendingPart = 'detail' | 'photos';

/** Writes the vendor's answers to the rows of activities. Every write may happen twice and in any order, with the same result. */
@Injectable()
export class ActivityStore {
  /** `askedAt`: the database's time before the request. An answer requested earlier than the stored answer changes nothing. */
  async saveSummaries(
    sql: Sql,
    { athleteId, provider }: ActivityOwner,
    summaries: readonly SummaryActivity[],
    askedAt: Date,
  ): Promise<void> {
    const unique = lastOfEach(summaries);
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
      provider,
      vendorsWith('streams').includes(provider),
    ]);
  }

  /** Stores the activities of a page that began at `since` or later (null: all), and their details as far as the page has them. */
  async savePage(
    sql: Sql,
    owner: ActivityOwner,
    { activities, details = [] }: Pick<ActivityPage, 'activities' | 'details'>,
    since: Date | null,
    askedAt: Date,
  ): Promise<void> {
    const isInRange = ({ startTime }: SummaryActivity) => since === null || startTime >= since;
    await this.saveSummaries(sql, owner, activities.filter(isInRange), askedAt);
    await this.storeDetails(sql, owner, details.filter(isInRange), askedAt);
  }

  /** Undefined if the answer changes nothing: it was requested before the stored answer or before the activity's removal. */
  async saveDetail(
    sql: Sql,
    owner: ActivityOwner,
    detail: DetailedActivity,
    askedAt: Date,
  ): Promise<SavedDetail | undefined> {
    await this.saveSummaries(sql, owner, [detail], askedAt);
    const [saved] = await this.storeDetails(sql, owner, [detail], askedAt);
    return saved;
  }

  /** One statement: an import's transaction must stay short, and some vendors' lists have the details of 30 days. */
  private async storeDetails(
    sql: Sql,
    { athleteId, provider }: ActivityOwner,
    details: readonly DetailedActivity[],
    askedAt: Date,
  ): Promise<readonly SavedDetail[]> {
    if (details.length === 0) return [];
    const unique = lastOfEach(details);
    const { rows } = await sql.query<SavedDetail>(saveDetails, [
      athleteId,
      askedAt,
      provider,
      unique.map(({ id }) => id),
      unique.map(({ description }) => description),
      unique.map(({ calories }) => calories),
      unique.map(({ map }) => map?.polyline ?? null),
      unique.map(({ laps }) => JSON.stringify(laps)),
      unique.map(({ splits }) => JSON.stringify(splits)),
    ]);
    return rows;
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
    part: PendingPart,
    { athleteId, provider, since, except }: PendingFilter,
  ): Promise<PendingNow | undefined> {
    const text = `
      select id, external_activity_id, clock_timestamp() as asked_at
      from activity
      where athlete_id = $1
        and ${part}_status = 'pending'
        and external_activity_id is not null
        and start_time >= coalesce($2, '-infinity'::timestamptz)
        and (${part}_retry_at is null or ${part}_retry_at <= clock_timestamp())
        and not external_activity_id = any ($3)
        and provider = $4
      order by start_time desc
      limit 1`;
    const statement = { name: `next pending ${part}`, text };
    const { rows } = await sql.query<PendingNow>(statement, [athleteId, since, except, provider]);
    return rows[0];
  }

  async oldestPending(sql: Sql, { athleteId, provider }: ActivityOwner): Promise<Date | undefined> {
    const { rows } = await sql.query<{ oldest: Date | null }>(
      `select min(start_time) as oldest
       from activity
       where athlete_id = $1 and provider = $2 and (detail_status = 'pending' or photos_status = 'pending')`,
      [athleteId, provider],
    );
    return rows[0]?.oldest ?? undefined;
  }

  /** Counts a failure. The activity is tried again after the first delay, then after the second, and is then set aside. */
  async failed(
    sql: Sql,
    id: string,
    part: PendingPart,
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

  /** Delays the next attempt without counting a failure. */
  async postpone(sql: Sql, id: string, part: PendingPart, forMs: number): Promise<void> {
    const statement = `
      update activity
      set ${part}_retry_at = clock_timestamp() + $2 * interval '1 millisecond'
      where id = $1
        and ${part}_status = 'pending'`;
    await sql.query(statement, [id, forMs]);
  }

  /** No import tries this part again until `reopenSetAside`, or until a changed summary makes the part pending again. */
  async setAside(sql: Sql, id: string, part: PendingPart, error: string): Promise<void> {
    const statement = `
      update activity
      set ${part}_status = 'set_aside', ${part}_error = $2, ${part}_retry_at = null
      where id = $1
        and ${part}_status = 'pending'`;
    await sql.query(statement, [id, error]);
  }

  /**
   * Records that all activities from before the creation of the import are stored. Later activities belong to the next import. If
   * `since` is after the previous sync, the import leaves a gap, and nothing is recorded.
   */
  async synced(sql: Sql, { athlete_id, provider, created_at, since }: Synced): Promise<void> {
    await sql.query(
      `insert into activity_sync (athlete_id, last_sync_at, provider)
       values ($1, $2, $4)
       on conflict (athlete_id, provider)
       do update set last_sync_at = greatest(activity_sync.last_sync_at, excluded.last_sync_at)
       where $3::timestamptz is null
         or activity_sync.last_sync_at is null
         or $3 <= activity_sync.last_sync_at`,
      [athlete_id, created_at, since, provider],
    );
  }

  /** Records that the vendor's list has these activities. They could not be parsed, but must not count as missing. */
  async listed(
    sql: Sql,
    { athleteId, provider }: ActivityOwner,
    externalIds: readonly string[],
    askedAt: Date,
  ): Promise<void> {
    if (externalIds.length === 0) return;
    await sql.query(
      `update activity
       set asked_at = $3, confirm_attempts = 0, confirm_after = null
       where athlete_id = $1 and provider = $4 and external_activity_id = any ($2) and asked_at < $3`,
      [athleteId, externalIds, askedAt, provider],
    );
  }

  /**
   * Deletes an activity that the vendor has just confirmed as gone. An answer requested before this moment does not bring the
   * activity back; an answer requested later does. The caller must run this in `aloneInGeneration`, so that a transaction with an
   * older page runs wholly before or wholly after the deletion.
   */
  async remove(sql: Sql, { athleteId, provider }: ActivityOwner, externalId: string): Promise<void> {
    await sql.query(
      `insert into activity_tombstone (athlete_id, provider, external_activity_id, deleted_at)
       values ($1, $3, $2, clock_timestamp())
       on conflict (athlete_id, provider, external_activity_id) do update set deleted_at = excluded.deleted_at`,
      [athleteId, externalId, provider],
    );
    await sql.query(
      `delete from activity where athlete_id = $1 and provider = $3 and external_activity_id = $2`,
      [athleteId, externalId, provider],
    );
  }
}

/** A statement can write a row only once. */
const lastOfEach = <Item extends { readonly id: string }>(items: readonly Item[]): readonly Item[] => [
  ...new Map(items.map((item) => [item.id, item])).values(),
];

function toStored({ id, urls, caption, takenAt, location, isDefault }: Photo): StoredPhoto {
  return { id, urls, caption, taken_at: takenAt && takenAt.toISOString(), location, is_default: isDefault };
}
