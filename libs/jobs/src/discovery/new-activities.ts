import { type Sql } from '#platform';

export const NEW_ACTIVITIES = Symbol('new activities');

export interface FoundActivity {
  readonly id: string;
  readonly athlete_id: string;
}

/** Which activities may be processed is not the runtime's business: an app binds whoever knows. */
export interface NewActivities {
  /**
   * Those that may be, that the runtime has not come across (`activity.first_seen_at` is null) and that have no job under way;
   * newest first, at most so many. They stay locked until the transaction of `sql` ends; what another has locked is left out.
   */
  find(sql: Sql, most: number): Promise<readonly FoundActivity[]>;
}
