import { Injectable } from '@nestjs/common';
import { Database, InvalidInput, NotFound, prepared, StandbyReads } from '#platform';
import { type Lap, Sources, type Split, type VendorId } from '#vendors';
import { type StoredPhoto } from './activity-store.js';
import { SAME_AS } from './same-as.js';

export const listActivities = prepared(
  'list activities',
  `
    select
      id, provider, external_activity_id, name, sport_type, start_time, timezone, distance_m, moving_time_s, elapsed_time_s,
      elevation_gain_m, average_heartrate, manual, photos,
      stream_fetch_status, ${SAME_AS} as same_as
    from activity
    where athlete_id = $1
      and start_time >= coalesce($2, '-infinity'::timestamptz)
      and start_time < coalesce($3, 'infinity'::timestamptz)
      and ($4::text is null or sport_type = $4)
      and ($8::text is null or provider = $8)
      -- Always a range of the index. The generic plan would read all rows before the cursor if a null could switch the condition off.
      and (start_time, id) < (coalesce($5, 'infinity'::timestamptz), coalesce($6, 'ffffffff-ffff-ffff-ffff-ffffffffffff'::uuid))
    order by start_time desc, id desc
    limit $7`,
);
const findActivity = prepared(
  'find activity',
  `
    select
      id, provider, external_activity_id, name, sport_type, start_time, timezone, distance_m, moving_time_s, elapsed_time_s,
      elevation_gain_m, average_heartrate, manual, photos, description, laps, splits,
      polyline, summary_polyline,
      stream_fetch_status, ${SAME_AS} as same_as
    from activity
    where athlete_id = $1
      and id = $2`,
);

/** An activity in a list. */
interface ActivityView {
  readonly id: string;
  readonly provider: VendorId;
  readonly external_activity_id: string | null;
  readonly name: string;
  readonly sport_type: string;
  readonly start_time: Date;
  readonly timezone: string | null;
  readonly distance_m: number;
  readonly moving_time_s: number;
  readonly elapsed_time_s: number;
  readonly elevation_gain_m: number;
  readonly average_heartrate: number | null;
  readonly manual: boolean;
  readonly stream_fetch_status: string;
  readonly photos: readonly StoredPhoto[];
  /** The ids of the athlete's activities of other vendors that are the same workout. */
  readonly same_as: readonly string[];
}

interface ActivityDetailView extends ActivityView {
  readonly description: string | null;
  readonly laps: readonly Lap[] | null;
  readonly splits: readonly Split[] | null;
  readonly map: { readonly polyline: string | null; readonly summary_polyline: string | null };
}

/** Laps and splits are stored as the vendor sent them. */
interface DetailRow extends ActivityView {
  readonly description: string | null;
  readonly laps: readonly unknown[] | null;
  readonly splits: readonly unknown[] | null;
  readonly polyline: string | null;
  readonly summary_polyline: string | null;
}

interface Range {
  readonly from?: Date;
  readonly to?: Date;
  readonly sportType?: string;
  readonly provider?: VendorId;
  readonly cursor?: string;
  readonly limit: number;
}

interface Page {
  readonly items: readonly ActivityView[];
  readonly next_cursor: string | null;
}

/** Lists and reads the activities of an athlete, newest first. Another athlete's activity is not found. */
@Injectable()
export class Activities {
  constructor(
    private readonly database: Database,
    private readonly sources: Sources,
    private readonly reads: StandbyReads = new StandbyReads(database),
  ) {}

  async list(athleteId: string, { from, to, sportType, provider, cursor, limit }: Range): Promise<Page> {
    const after = cursor === undefined ? undefined : placeOf(cursor);
    // One row more than the limit shows whether there is a next page.
    const values = [athleteId, from, to, sportType, after?.startTime, after?.id, limit + 1, provider];
    const { rows } = await this.reads.current<ActivityView>(listActivities, values);
    const items = rows.slice(0, limit);
    const last = items.at(-1);
    return { items, next_cursor: rows.length > limit && last ? cursorAt(last) : null };
  }

  async find(athleteId: string, id: string): Promise<ActivityDetailView> {
    const { rows } = await this.database.query<DetailRow>(findActivity, [athleteId, id]);
    if (!rows[0]) throw new NotFound('No such activity');
    const { polyline, summary_polyline, laps, splits, ...activity } = rows[0];
    const source = this.sources.activities(activity.provider);
    return {
      ...activity,
      laps: laps && source.laps(laps),
      splits: splits && source.splits(splits),
      map: { polyline, summary_polyline },
    };
  }
}

const CURSOR = /^(-?\d{1,14})\.([0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12})$/;

function cursorAt({ start_time, id }: ActivityView): string {
  return Buffer.from(`${start_time.getTime()}.${id}`).toString('base64url');
}

function placeOf(cursor: string): { startTime: Date; id: string } {
  const [, ms, id] = CURSOR.exec(Buffer.from(cursor, 'base64url').toString()) ?? [];
  if (!ms || !id) throw new InvalidInput(['cursor: must be a next_cursor of an earlier answer']);
  return { startTime: new Date(Number(ms)), id };
}
