import { Controller, Get, HttpCode, Param, Post, Req } from '@nestjs/common';
import { ApiAcceptedResponse, ApiOkResponse, ApiOperation, ApiTags } from '@nestjs/swagger';
import { Observability, Operations } from '#admin';
import { Admin, type AuthenticatedRequest, IdParam } from '#platform';
import { Refuses } from '../openapi/common-answers.js';
import {
  BackfillQueuedAnswer,
  BackfillSwitchAnswer,
  FetchStateAnswer,
  ObservabilityAnswer,
} from './admin.dto.js';

/** The state of the rate limit and of stream fetching, and the switches of the backfill. The numbers may be some seconds old. */
@ApiTags('admin')
@Admin()
@Controller('admin')
export class AdminController {
  constructor(
    private readonly observability: Observability,
    private readonly operations: Operations,
  ) {}

  @Get('observability')
  @ApiOperation({
    operationId: 'getObservability',
    summary: 'Read how many calls the vendors’ rate limits still allow, and the progress of stream fetching',
    description:
      'The answer also has the number of activities by stream state, the share of the last 24 hours’ calls that a vendor answered with 429, and each athlete’s backfill with its ETA.',
  })
  @ApiOkResponse({ type: ObservabilityAnswer, description: 'The state now' })
  look(): Promise<ObservabilityAnswer> {
    return this.observability.read();
  }

  @Post('activities/:id/reset-stream-fetch')
  @HttpCode(200)
  @ApiOperation({
    operationId: 'resetStreamFetch',
    summary: 'Fetch an activity’s streams again, in any state',
    description: 'Stored streams stay until new streams replace them.',
  })
  @ApiOkResponse({ type: FetchStateAnswer, description: 'The new state' })
  @Refuses({ 404: 'There is no such activity' })
  reset(
    @Param('id', IdParam) activityId: string,
    @Req() { caller }: AuthenticatedRequest,
  ): Promise<FetchStateAnswer> {
    return this.operations.resetStreamFetch(activityId, caller.subject);
  }

  @Post('athletes/:id/backfill')
  @HttpCode(202)
  @ApiOperation({
    operationId: 'beginBackfill',
    summary: 'Continue an athlete’s backfill now',
    description:
      'The backfill stays within the vendor’s limits, in turn with the backfills of other athletes.',
  })
  @ApiAcceptedResponse({ type: BackfillQueuedAnswer, description: 'The backfill is queued' })
  @Refuses({ 404: 'There is no such athlete' })
  async begin(
    @Param('id', IdParam) athleteId: string,
    @Req() { caller }: AuthenticatedRequest,
  ): Promise<BackfillQueuedAnswer> {
    await this.operations.beginBackfill(athleteId, caller.subject);
    return { athlete_id: athleteId, status: 'queued' };
  }

  @Post('backfills/pause')
  @HttpCode(202)
  @ApiOperation({
    operationId: 'pauseBackfills',
    summary: 'Pause all backfills until they are resumed',
    description: 'Streams of new uploads and of requests with `Prefer: wait` are still fetched.',
  })
  @ApiAcceptedResponse({ type: BackfillSwitchAnswer, description: 'Backfills are paused' })
  async pause(@Req() { caller }: AuthenticatedRequest): Promise<BackfillSwitchAnswer> {
    await this.operations.pauseBackfills(caller.subject);
    return { status: 'paused' };
  }

  @Post('backfills/resume')
  @HttpCode(202)
  @ApiOperation({
    operationId: 'resumeBackfills',
    summary: 'Resume all backfills',
    description: 'Does nothing if backfills are not paused.',
  })
  @ApiAcceptedResponse({ type: BackfillSwitchAnswer, description: 'Backfills run' })
  async resume(@Req() { caller }: AuthenticatedRequest): Promise<BackfillSwitchAnswer> {
    await this.operations.resumeBackfills(caller.subject);
    return { status: 'running' };
  }
}
