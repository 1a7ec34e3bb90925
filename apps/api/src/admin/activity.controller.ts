import { Controller, Get, Param } from '@nestjs/common';
import { ApiOkResponse, ApiOperation, ApiTags } from '@nestjs/swagger';
import { Admin, IdParam } from '#platform';
import { JobTimeline } from '#processing';
import { FetchViews } from '#streams';
import { Refuses } from '../openapi/common-answers.js';
import { AdminActivityAnswer } from './activity.dto.js';

/**
 * Shows where one activity of any athlete stands: its stream fetch and its jobs. The two are read one after the other, so they may differ by a
 * moment.
 */
@ApiTags('admin')
@Admin()
@Controller('admin/activities')
export class AdminActivityController {
  constructor(
    private readonly fetches: FetchViews,
    private readonly timeline: JobTimeline,
  ) {}

  @Get(':id')
  @ApiOperation({
    operationId: 'getAdminActivity',
    summary: 'Read where an activity stands: the fetch of its streams, and its jobs with their runs',
    description:
      '`stream` has the state of the fetch, the last error, the time of the next attempt and what is stored.',
  })
  @ApiOkResponse({ type: AdminActivityAnswer, description: 'The activity' })
  @Refuses({ 404: 'There is no such activity' })
  async find(@Param('id', IdParam) activityId: string): Promise<AdminActivityAnswer> {
    const activity = await this.fetches.find(activityId);
    return { ...activity, jobs: await this.timeline.of(activity.athlete_id, activityId) };
  }
}
