import { Controller, Get, Query, Req } from '@nestjs/common';
import { ApiBadRequestResponse, ApiBearerAuth, ApiOkResponse, ApiOperation, ApiTags } from '@nestjs/swagger';
import { type AuthenticatedRequest, ErrorAnswer } from '#platform';
import { Nights } from '#sleep';
import { NightsAnswer, NightsQuery } from './sleep.dto.js';

@ApiTags('sleep')
@ApiBearerAuth()
@Controller('v1/sleep')
export class SleepController {
  constructor(private readonly nights: Nights) {}

  @Get()
  @ApiOperation({ summary: 'The nights of the athlete, newest first, one per local date of waking' })
  @ApiOkResponse({ type: NightsAnswer })
  @ApiBadRequestResponse({ type: ErrorAnswer })
  list(
    @Req() { caller: { subject } }: AuthenticatedRequest,
    @Query() query: NightsQuery,
  ): Promise<NightsAnswer> {
    return this.nights.list(subject, query);
  }
}
