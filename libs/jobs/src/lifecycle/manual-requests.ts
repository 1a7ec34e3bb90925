import { Injectable } from '@nestjs/common';
import { Database, loadSql, NotFound } from '#platform';
import { type JobWithRuns } from './job.js';
import { Jobs } from './jobs.js';

const findLatest = loadSql(import.meta.url, './sql/find-latest.sql');

/** A person asks: it is done again if it has been done, and whatever is under way for the activity becomes theirs. */
@Injectable()
export class ManualRequests {
  constructor(
    private readonly jobs: Jobs,
    private readonly database: Database,
  ) {}

  activity(athleteId: string, activityId: string): Promise<JobWithRuns> {
    return this.ask(athleteId, activityId, 'manual_activity');
  }

  async latest(athleteId: string): Promise<JobWithRuns> {
    const { rows } = await this.database.query<{ id: string }>(findLatest, [athleteId]);
    if (!rows[0]) throw new NotFound('There is no activity yet');
    return this.ask(athleteId, rows[0].id, 'manual_latest');
  }

  private async ask(
    athleteId: string,
    activityId: string,
    kind: 'manual_activity' | 'manual_latest',
  ): Promise<JobWithRuns> {
    const request = { athleteId, activityIds: [activityId], kind, requestedBy: 'manual', force: true };
    const [enqueued] = await this.jobs.enqueue(request);
    if (!enqueued) throw new NotFound('No such activity');
    if (enqueued.kind === 'already_processed') throw new Error('a forced wish was not granted');
    return this.jobs.find(athleteId, enqueued.job.job_id);
  }
}
