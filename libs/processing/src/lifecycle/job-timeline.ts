import { Injectable } from '@nestjs/common';
import { Database, loadSql } from '#platform';
import { type JobWithRuns } from './job.js';

const listTimeline = loadSql(import.meta.url, './sql/list-timeline.sql');

// Past jobs are purged (JOBS_RETENTION_DAYS); an activity that was processed again more often than this is a mistake of a client.
const MOST_JOBS = 20;

/** A job with its runs and its times. */
interface TimelineJob extends Omit<JobWithRuns, 'activity_id'> {
  readonly requested_by: string;
  readonly requested_at: Date;
  readonly available_at: Date;
  readonly finished_at: Date | null;
}

/** The newest 20 jobs of an athlete's activity with their runs. */
@Injectable()
export class JobTimeline {
  constructor(private readonly database: Database) {}

  async of(athleteId: string, activityId: string): Promise<readonly TimelineJob[]> {
    return (await this.database.query<TimelineJob>(listTimeline, [athleteId, activityId, MOST_JOBS])).rows;
  }
}
