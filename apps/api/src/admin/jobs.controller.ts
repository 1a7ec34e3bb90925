import { Controller, Get, Query } from '@nestjs/common';
import { ApiOkResponse, ApiOperation, ApiTags } from '@nestjs/swagger';
import { ConfigSnapshots, JobList } from '#processing';
import { Admin } from '#platform';
import { JobsAnswer, JobsQuery, SnapshotsAnswer, SnapshotsQuery } from './jobs.dto.js';

/** Lists jobs of all athletes and the settings of workers. The status of a listed job may have changed since. */
@ApiTags('admin')
@Admin()
@Controller('admin')
export class JobsController {
  constructor(
    private readonly jobs: JobList,
    private readonly snapshots: ConfigSnapshots,
  ) {}

  @Get('jobs')
  @ApiOperation({
    operationId: 'listJobs',
    summary: 'List processing jobs of all athletes, newest first',
    description: 'A running job shows its worker and its lease.',
  })
  @ApiOkResponse({ type: JobsAnswer, description: 'A page of jobs' })
  list(@Query() { activity_id, athlete_id, ...page }: JobsQuery): Promise<JobsAnswer> {
    return this.jobs.page({ activityId: activity_id, athleteId: athlete_id, ...page });
  }

  @Get('config-snapshots')
  @ApiOperation({
    operationId: 'listConfigSnapshots',
    summary: 'List the settings of workers, latest change first',
    description: 'At its start, a worker stores its settings if they differ from the last stored settings.',
  })
  @ApiOkResponse({ type: SnapshotsAnswer, description: 'A page of snapshots' })
  settings(@Query() { cursor, limit }: SnapshotsQuery): Promise<SnapshotsAnswer> {
    return this.snapshots.list(cursor, limit);
  }
}
