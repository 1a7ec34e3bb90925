import { Inject, Injectable } from '@nestjs/common';
import { Database, Gather, loadSql, TIME_SCALE, type TimeScale } from '#platform';
import { type FetchStatus } from '../lifecycle/fetch-state.js';
import { patienceAt } from '../lifecycle/retry-policy.js';

const findHeads = loadSql(import.meta.url, './sql/find-heads.sql');

/** What is known of an activity's streams without their data. */
export interface Head {
  readonly external_activity_id: string | null;
  readonly source: string;
  readonly status: FetchStatus;
  readonly error: string | null;
  readonly retry_at: Date | null;
  /** Null where there is nothing to show. */
  readonly version: string | null;
}

interface Question {
  readonly athleteId: string;
  readonly activityId: string;
}

// The rest gathers meanwhile: a statement costs the database and us more than what is in it.
const MOST_AT_ONCE = 1;

/** Whose an activity is and which version of its streams is current: asked of the database each time, by all requests of a turn at once. */
@Injectable()
export class Heads {
  private readonly questions = new Gather<Question, Head | undefined>((questions) => this.put(questions), {
    turnEnd: 'poll',
    mostAtOnce: MOST_AT_ONCE,
  });

  constructor(
    private readonly database: Database,
    @Inject(TIME_SCALE) private readonly scale: TimeScale,
  ) {}

  /** Nothing where that athlete has no such activity. */
  find(athleteId: string, activityId: string): Promise<Head | undefined> {
    return this.questions.ask({ athleteId, activityId });
  }

  private async put(questions: readonly Question[]): Promise<Array<Head | undefined>> {
    const activityIds = questions.map(({ activityId }) => activityId);
    const athleteIds = questions.map(({ athleteId }) => athleteId);
    const values = [activityIds, athleteIds, ...patienceAt(this.scale)];
    const { rows } = await this.database.query<Head & { place: number }>(findHeads, values);
    const heads = new Array<Head | undefined>(questions.length);
    for (const { place, ...head } of rows) heads[place - 1] = head;
    return heads;
  }
}
