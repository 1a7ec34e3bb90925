import {
  type BeforeApplicationShutdown,
  Inject,
  Injectable,
  type OnApplicationBootstrap,
} from '@nestjs/common';
import { Database, LOGGER, type Logger, Loop, type Sql, TIME_SCALE, type TimeScale } from '#platform';
import { Jobs } from '../lifecycle/jobs.js';
import { type FoundActivity, NEW_ACTIVITIES, type NewActivities } from './new-activities.js';

const EVERY_MS = 1_000;
// Jobs are done in the order in which they were asked for. A history of thousands waits as activities, newest first, so that a
// new upload has at most so many before it.
const MOST_WAITING = 200;

/**
 * Asks for the processing of what is new. An activity is recorded as discovered in the transaction that makes its job, so
 * none is forgotten, whoever stored its streams and whoever died over it.
 */
@Injectable()
export class Discovery implements OnApplicationBootstrap, BeforeApplicationShutdown {
  private readonly loop: Loop;

  constructor(
    private readonly jobs: Jobs,
    private readonly database: Database,
    @Inject(NEW_ACTIVITIES) private readonly activities: NewActivities,
    @Inject(TIME_SCALE) scale: TimeScale,
    @Inject(LOGGER) private readonly logger: Logger,
  ) {
    const everyMs = scale.sweep(EVERY_MS);
    this.loop = new Loop('discovery', async () => ((await this.runOnce()) > 0 ? 0 : everyMs), logger);
  }

  onApplicationBootstrap(): void {
    this.loop.start();
  }

  beforeApplicationShutdown(): Promise<void> {
    return this.loop.stop();
  }

  /** Answers how many were recorded. */
  async runOnce(): Promise<number> {
    const recorded = await this.database.transaction(async (sql) => {
      const room = MOST_WAITING - (await this.jobs.countWaiting(MOST_WAITING, sql));
      if (room <= 0) return 0;
      const asked = await this.askFor(await this.activities.find(sql, room), sql);
      if (asked.length > 0) await this.jobs.recordDiscovered(asked, sql);
      return asked.length;
    });
    if (recorded > 0) this.logger.debug({ activities: recorded }, 'activities discovered');
    return recorded;
  }

  private async askFor(found: readonly FoundActivity[], sql: Sql): Promise<string[]> {
    const asked: string[] = [];
    for (const [athleteId, activityIds] of byAthlete(found)) {
      const request = { athleteId, activityIds, kind: 'auto_poll', requestedBy: 'worker' } as const;
      for (const enqueued of await this.jobs.enqueue(request, sql))
        // A job that is under way may have begun without what is new, and fail for want of it: look again when it has ended.
        if (enqueued.kind !== 'joined')
          asked.push(enqueued.kind === 'queued' ? enqueued.job.activity_id : enqueued.activityId);
    }
    return asked;
  }
}

function byAthlete(found: readonly FoundActivity[]): Map<string, string[]> {
  const groups = new Map<string, string[]>();
  for (const { id, athlete_id } of found) groups.set(athlete_id, [...(groups.get(athlete_id) ?? []), id]);
  return groups;
}
