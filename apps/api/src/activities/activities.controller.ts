import { Controller, Get, Param, Query, Req } from '@nestjs/common';
import {
  ApiBadRequestResponse,
  ApiBearerAuth,
  ApiNotFoundResponse,
  ApiOkResponse,
  ApiOperation,
  ApiTags,
} from '@nestjs/swagger';
import { Activities } from '#activities';
import { type AuthenticatedRequest, ErrorAnswer, IdParam } from '#platform';
import { ActivitiesAnswer, ActivitiesQuery, ActivityDetailAnswer } from './activities.dto.js';

@ApiTags('activities')
@ApiBearerAuth()
@Controller('v1/activities')
export class ActivitiesController {
  constructor(private readonly activities: Activities) {}

  @Get()
  @ApiOperation({ summary: 'The activities of the athlete, newest first' })
  @ApiOkResponse({ type: ActivitiesAnswer })
  @ApiBadRequestResponse({ type: ErrorAnswer })
  list(
    @Req() { caller: { athleteId } }: AuthenticatedRequest,
    @Query() query: ActivitiesQuery,
  ): Promise<ActivitiesAnswer> {
    const { sport_type: sportType, ...range } = query;
    return this.activities.list(athleteId, { ...range, sportType });
  }

  @Get(':id')
  @ApiOperation({ summary: 'One activity, with laps, splits and map' })
  @ApiOkResponse({ type: ActivityDetailAnswer })
  @ApiNotFoundResponse({ type: ErrorAnswer })
  find(
    @Req() { caller: { athleteId } }: AuthenticatedRequest,
    @Param('id', IdParam) id: string,
  ): Promise<ActivityDetailAnswer> {
    return this.activities.find(athleteId, id);
  }
}
