import { Body, Controller, Get, HttpCode, Post, Query, Req } from '@nestjs/common';
import { ApiAcceptedResponse, ApiOkResponse, ApiOperation, ApiTags } from '@nestjs/swagger';
import { StreamFailures } from '#admin';
import { Admin, type AuthenticatedRequest, BodyLimit, SMALL_BODY_BYTES } from '#platform';
import { FailuresAnswer, FailuresQuery, ResetAnswer, StreamsFilter } from './failures.dto.js';

/** Lists failed stream fetches by their reason, and resets many of them. A worker resets them after the answer. */
@ApiTags('admin')
@Admin()
@Controller('admin')
export class FailuresController {
  constructor(private readonly failures: StreamFailures) {}

  @Get('failures')
  @ApiOperation({
    operationId: 'listFailures',
    summary: 'List the reasons of failed stream fetches, most frequent first',
    description: 'Each reason has its count and the newest five activities. There are 100 reasons at most.',
  })
  @ApiOkResponse({ type: FailuresAnswer, description: 'The reasons' })
  async list(@Query() { error }: FailuresQuery): Promise<FailuresAnswer> {
    return { items: await this.failures.byReason(error), next_cursor: null };
  }

  @Post('streams/reset')
  @HttpCode(202)
  @BodyLimit(SMALL_BODY_BYTES)
  @ApiOperation({
    operationId: 'resetStreams',
    summary: 'Fetch the streams of failed activities again: those that match the body, or without a body all',
    description:
      'A worker resets the fetches after the answer. Meanwhile `count` of `GET /admin/failures` falls. A fetch that fails again later stays failed.',
  })
  @ApiAcceptedResponse({ type: ResetAnswer, description: 'A worker resets the fetches' })
  async reset(
    @Req() { caller }: AuthenticatedRequest,
    @Body() { error, athlete_id }: StreamsFilter = {},
  ): Promise<ResetAnswer> {
    // Clients send null for an absent field.
    const filter = { error: error ?? undefined, athleteId: athlete_id ?? undefined };
    return { matched: await this.failures.reset(filter, caller.subject) };
  }
}
