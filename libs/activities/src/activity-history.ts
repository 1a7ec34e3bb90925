import { Injectable } from '@nestjs/common';
import { Database, prepared } from '#platform';

const findFacts = prepared(
  'find activity facts',
  `
    select sport_type, distance_m, moving_time_s, elapsed_time_s, elevation_gain_m
    from activity
    where id = $1`,
);
const listEarlier = prepared(
  'list earlier activities',
  `
    select earlier.sport_type, earlier.distance_m, earlier.moving_time_s, earlier.average_heartrate
    from activity
    join activity as earlier
      on earlier.athlete_id = activity.athlete_id
      and (earlier.start_time, earlier.id) < (activity.start_time, activity.id)
    where activity.id = $1
    order by earlier.start_time desc, earlier.id desc
    limit $2`,
);

/** The numbers of the vendor's summary. */
interface ActivityFacts {
  readonly sport_type: string;
  readonly distance_m: number;
  readonly moving_time_s: number;
  readonly elapsed_time_s: number;
  readonly elevation_gain_m: number;
}

interface PastActivity {
  readonly sport_type: string;
  readonly distance_m: number;
  readonly moving_time_s: number;
  readonly average_heartrate: number | null;
}

/** Reads an activity and the athlete's earlier activities, for processors. */
@Injectable()
export class ActivityHistory {
  constructor(private readonly database: Database) {}

  /** Undefined if there is no such activity. */
  async facts(activityId: string): Promise<ActivityFacts | undefined> {
    const { rows } = await this.database.query<ActivityFacts>(findFacts, [activityId]);
    return rows[0];
  }

  /** The athlete's activities before this one, the latest first. */
  async earlier(activityId: string, most: number): Promise<readonly PastActivity[]> {
    const { rows } = await this.database.query<PastActivity>(listEarlier, [activityId, most]);
    return rows;
  }
}
