import { Controller, Get, Query } from '@nestjs/common';
import {
  ApiBadRequestResponse,
  ApiBearerAuth,
  ApiForbiddenResponse,
  ApiOkResponse,
  ApiOperation,
  ApiTags,
} from '@nestjs/swagger';
import { ConfigSnapshots, JobList } from '#jobs';
import { Admin, ErrorAnswer } from '#platform';
import { JobsAnswer, JobsQuery, SnapshotsAnswer, SnapshotsQuery } from './jobs.dto.js';

@ApiTags('admin')
@ApiBearerAuth()
@ApiForbiddenResponse({ type: ErrorAnswer })
@ApiBadRequestResponse({ type: ErrorAnswer })
@Admin()
@Controller('admin')
export class JobsController {
  constructor(
    private readonly jobs: JobList,
    private readonly snapshots: ConfigSnapshots,
  ) {}

  @Get('jobs')
  @ApiOperation({ summary: 'Processing jobs of all athletes, the newest wishes first' })
  @ApiOkResponse({ type: JobsAnswer })
  list(@Query() query: JobsQuery): Promise<JobsAnswer> {
    return this.jobs.page(query);
  }

  @Get('config-snapshots')
  @ApiOperation({ summary: 'With what settings workers have processed, the latest change first' })
  @ApiOkResponse({ type: SnapshotsAnswer })
  settings(@Query() { cursor, limit }: SnapshotsQuery): Promise<SnapshotsAnswer> {
    return this.snapshots.list(cursor, limit);
  }
}
