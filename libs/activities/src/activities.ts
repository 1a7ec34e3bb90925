import { Injectable } from '@nestjs/common';
import { Database, InvalidInput, loadSql, NotFound } from '#platform';

const listActivities = loadSql(import.meta.url, './sql/list-activities.sql');
const findActivity = loadSql(import.meta.url, './sql/find-activity.sql');

/** One line of an athlete's list. */
export interface ActivityView {
  readonly id: string;
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
  readonly photos: readonly unknown[];
}

export interface ActivityDetailView extends ActivityView {
  readonly description: string | null;
  readonly laps: readonly unknown[] | null;
  readonly splits: readonly unknown[] | null;
  readonly map: { readonly polyline: string | null; readonly summary_polyline: string | null };
}

export interface Range {
  readonly from?: Date;
  readonly to?: Date;
  readonly sportType?: string;
  readonly cursor?: string;
  readonly limit: number;
}

export interface Page {
  readonly items: readonly ActivityView[];
  readonly next_cursor: string | null;
}

/** An athlete's activities, newest first. */
@Injectable()
export class Activities {
  constructor(private readonly database: Database) {}

  async list(athleteId: string, { from, to, sportType, cursor, limit }: Range): Promise<Page> {
    const after = cursor === undefined ? undefined : placeOf(cursor);
    // One more than asked for tells whether there is a next page.
    const values = [athleteId, from, to, sportType, after?.startTime, after?.id, limit + 1];
    const { rows } = await this.database.query<ActivityView>(listActivities, values);
    const items = rows.slice(0, limit);
    const last = items.at(-1);
    return { items, next_cursor: rows.length > limit && last ? cursorAt(last) : null };
  }

  async find(athleteId: string, id: string): Promise<ActivityDetailView> {
    type Row = ActivityDetailView & { polyline: string | null; summary_polyline: string | null };
    const { rows } = await this.database.query<Row>(findActivity, [athleteId, id]);
    if (!rows[0]) throw new NotFound('No such activity');
    const { polyline, summary_polyline, ...activity } = rows[0];
    return { ...activity, map: { polyline, summary_polyline } };
  }
}

const CURSOR = /^(\d{1,14})\.([0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12})$/;

function cursorAt({ start_time, id }: ActivityView): string {
  return Buffer.from(`${start_time.getTime()}.${id}`).toString('base64url');
}

function placeOf(cursor: string): { startTime: Date; id: string } {
  const [, ms, id] = CURSOR.exec(Buffer.from(cursor, 'base64url').toString()) ?? [];
  if (!ms || !id) throw new InvalidInput(['cursor: must be a next_cursor of an earlier answer']);
  return { startTime: new Date(Number(ms)), id };
}
