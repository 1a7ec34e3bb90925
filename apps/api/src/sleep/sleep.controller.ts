import { Controller, Get, Param, Query, Req } from '@nestjs/common';
import { ApiOkResponse, ApiOperation, ApiTags } from '@nestjs/swagger';
import { type AuthenticatedRequest } from '#platform';
import { NightRecords, Nights } from '#sleep';
import { Refuses } from '../openapi/common-answers.js';
import { NightDate, NightsAnswer, NightsQuery, NightWithRecordsAnswer } from './sleep.dto.js';

/** Lists the nights of the athlete, and shows which records made a night. */
@ApiTags('sleep')
@Controller('v1/sleep')
export class SleepController {
  constructor(
    private readonly nights: Nights,
    private readonly records: NightRecords,
  ) {}

  @Get()
  @ApiOperation({
    operationId: 'listNights',
    summary: 'List nights, newest first',
    description: 'One night for each local date of waking: the longest scored sleep that is no nap.',
  })
  @ApiOkResponse({ type: NightsAnswer, description: 'A page of nights' })
  list(
    @Req() { caller: { subject } }: AuthenticatedRequest,
    @Query() query: NightsQuery,
  ): Promise<NightsAnswer> {
    return this.nights.list(subject, query);
  }

  @Get(':date')
  @ApiOperation({
    operationId: 'getNight',
    summary: 'Read one night with all records of its date, and why one of them was chosen',
    description:
      'The fields of the night are null if the date has only naps or records that are not scored yet.',
  })
  @ApiOkResponse({ type: NightWithRecordsAnswer, description: 'The night' })
  @Refuses({ 404: 'The athlete has no record of this date' })
  find(
    @Req() { caller: { subject } }: AuthenticatedRequest,
    @Param() { date }: NightDate,
  ): Promise<NightWithRecordsAnswer> {
    return this.records.find(subject, date);
  }
}
