import { Controller, Get, Param, Query, Req } from '@nestjs/common';
import { ApiOkResponse, ApiOperation, ApiTags } from '@nestjs/swagger';
import { Activities } from '#activities';
import { type AuthenticatedRequest, IdParam } from '#platform';
import { Refuses } from '../openapi/common-answers.js';
import { ActivitiesAnswer, ActivitiesQuery, ActivityDetailAnswer } from './activities.dto.js';

/** Lists and reads the activities of the athlete. An activity of another athlete is answered with 404. */
@ApiTags('activities')
@Controller('v1/activities')
export class ActivitiesController {
  constructor(private readonly activities: Activities) {}

  @Get()
  @ApiOperation({
    operationId: 'listActivities',
    summary: 'List activities, newest first',
    description:
      'All filters may be combined. An activity appears as soon as the vendor has listed it; its laps, splits and streams follow.',
  })
  @ApiOkResponse({ type: ActivitiesAnswer, description: 'A page of activities' })
  list(
    @Req() { caller: { athleteId } }: AuthenticatedRequest,
    @Query() query: ActivitiesQuery,
  ): Promise<ActivitiesAnswer> {
    const { sport_type: sportType, ...range } = query;
    return this.activities.list(athleteId, { ...range, sportType });
  }

  @Get(':id')
  @ApiOperation({
    operationId: 'getActivity',
    summary: 'Read one activity, with laps, splits and map',
    description: 'Laps, splits and the full map are null until the detail has been imported from the vendor.',
  })
  @ApiOkResponse({ type: ActivityDetailAnswer, description: 'The activity' })
  @Refuses({ 404: 'The athlete has no such activity' })
  find(
    @Req() { caller: { athleteId } }: AuthenticatedRequest,
    @Param('id', IdParam) id: string,
  ): Promise<ActivityDetailAnswer> {
    return this.activities.find(athleteId, id);
  }
}
