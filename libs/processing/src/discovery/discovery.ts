import { type Database, type Logger, Loop, type Sql, type TimeScale } from '#platform';
import { type Enqueued } from '../lifecycle/job.js';
import { type Jobs } from '../lifecycle/jobs.js';

interface FoundActivity {
  readonly id: string;
  readonly athlete_id: string;
}

/** Finds activities to process. The implementation decides which activities may be processed. */
export interface NewActivities {
  /**
   * Returns at most `most` activities, newest first. They may be processed, and the runtime has not seen them in their present
   * revision: `first_seen_at` is null, or `seen_revision` is below `input_revision`. Leaves out activities whose unfinished job does
   * not wait for an input, and rows that another worker has locked. The returned rows stay locked until the transaction of `sql` ends.
   */
  find(sql: Sql, most: number): Promise<readonly FoundActivity[]>;
}

const EVERY_MS = 1_000;
// Jobs run in the order of their requests. At most this many automatic jobs wait, so at most this many run before a new upload.
// The other activities of a long history get their jobs later, newest first.
const MOST_WAITING = 200;

/**
 * Creates jobs for new and changed activities, and makes waiting jobs due when their streams arrive. The transaction that creates a job
 * also records the activity as seen, so that no activity is missed, even if the worker that stored its streams died.
 */
export class Discovery {
  private readonly loop: Loop;

  constructor(
    private readonly jobs: Jobs,
    private readonly database: Database,
    private readonly activities: NewActivities,
    scale: TimeScale,
    private readonly logger: Logger,
  ) {
    const everyMs = scale.sweep(EVERY_MS);
    this.loop = new Loop('discovery', async () => ((await this.runOnce()) > 0 ? 0 : everyMs), logger);
  }

  start(): void {
    this.loop.start();
  }

  stop(): Promise<void> {
    return this.loop.stop();
  }

  /** Returns how many activities were recorded as seen. */
  async runOnce(): Promise<number> {
    const recorded = await this.database.transaction(async (sql) => {
      const most = MOST_WAITING - (await this.jobs.countWaiting(MOST_WAITING, sql));
      if (most <= 0) return 0;
      const enqueued = await this.enqueue(await this.activities.find(sql, most), sql);
      if (enqueued.length > 0) await this.jobs.recordDiscovered(enqueued, sql);
      return enqueued.length;
    });
    if (recorded > 0) this.logger.debug({ activities: recorded }, 'activities discovered');
    return recorded;
  }

  private async enqueue(found: readonly FoundActivity[], sql: Sql): Promise<string[]> {
    const activities: string[] = [];
    for (const [athleteId, activityIds] of byAthlete(found)) {
      const request = { athleteId, activityIds, kind: 'auto_poll', requestedBy: 'worker' } as const;
      for (const enqueued of await this.jobs.enqueue(request, sql))
        if (!hasBegun(enqueued))
          activities.push('job' in enqueued ? enqueued.job.activity_id : enqueued.activityId);
    }
    return activities;
  }
}

/** True if a worker has the job: its run may have read older inputs, so the activity is discovered again when the job has ended. */
function hasBegun(enqueued: Enqueued): boolean {
  return enqueued.kind === 'joined' && ['claimed', 'running'].includes(enqueued.job.status);
}

function byAthlete(found: readonly FoundActivity[]): Map<string, string[]> {
  const groups = new Map<string, string[]>();
  for (const { id, athlete_id } of found) groups.set(athlete_id, [...(groups.get(athlete_id) ?? []), id]);
  return groups;
}
