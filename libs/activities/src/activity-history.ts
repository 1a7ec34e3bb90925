import { Injectable } from '@nestjs/common';
import { Database, loadSql } from '#platform';

const findFacts = loadSql(import.meta.url, './sql/find-facts.sql');
const listEarlier = loadSql(import.meta.url, './sql/list-earlier.sql');

/** What the vendor's summary says in numbers. */
export interface ActivityFacts {
  readonly sport_type: string;
  readonly distance_m: number;
  readonly moving_time_s: number;
  readonly elapsed_time_s: number;
  readonly elevation_gain_m: number;
}

export interface EarlierActivity {
  readonly sport_type: string;
  readonly distance_m: number;
  readonly moving_time_s: number;
  readonly average_heartrate: number | null;
}

/** An activity among those of its athlete, for those who compute with it. */
@Injectable()
export class ActivityHistory {
  constructor(private readonly database: Database) {}

  /** Nothing where there is no such activity. */
  async facts(activityId: string): Promise<ActivityFacts | undefined> {
    const { rows } = await this.database.query<ActivityFacts>(findFacts, [activityId]);
    return rows[0];
  }

  /** The same athlete's, before it, the latest first. */
  async earlier(activityId: string, most: number): Promise<readonly EarlierActivity[]> {
    const { rows } = await this.database.query<EarlierActivity>(listEarlier, [activityId, most]);
    return rows;
  }
}
