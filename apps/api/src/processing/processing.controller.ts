import { Controller, Get, HttpCode, Param, Post, Query, Req } from '@nestjs/common';
import { ApiAcceptedResponse, ApiOkResponse, ApiOperation, ApiTags } from '@nestjs/swagger';
import { Jobs, JobTimeline, ManualRequests } from '#processing';
import { type AuthenticatedRequest, IdParam } from '#platform';
import { WriteBackStore } from '#write-back';
import { Refuses } from '../openapi/common-answers.js';
import { ActivityStateAnswer, JobAnswer, StateQuery } from './processing.dto.js';

const TOO_MANY =
  '`PROCESSING_LIMIT`: requests of the athlete have caused 120 runs within the hour. `THROTTLED`: the athlete has used up the requests of this minute';

/** Requests the processing of activities, and reads the state and the jobs of activities. A request is answered before its job runs. */
@ApiTags('processing')
@Controller('v1')
export class ProcessingController {
  constructor(
    private readonly requests: ManualRequests,
    private readonly jobs: Jobs,
    private readonly timeline: JobTimeline,
    private readonly writeBacks: WriteBackStore,
  ) {}

  @Post('activities/latest/process')
  @HttpCode(202)
  @ApiOperation({
    operationId: 'processLatestActivity',
    summary: 'Process the newest activity, even if it was processed before',
    description:
      'Every activity is processed once without a request. If a job of the activity is unfinished, that job is returned.',
  })
  @ApiAcceptedResponse({ type: JobAnswer, description: 'The job' })
  @Refuses({ 404: 'The athlete has no activity yet', 429: TOO_MANY })
  processLatest(@Req() { caller: { athleteId }, id: requestId }: AuthenticatedRequest): Promise<JobAnswer> {
    return this.requests.latest(athleteId, requestId);
  }

  @Post('activities/:id/process')
  @HttpCode(202)
  @ApiOperation({
    operationId: 'processActivity',
    summary: 'Process an activity, even if it was processed before',
    description:
      'Every activity is processed once without a request. If a job of the activity is unfinished, that job is returned.',
  })
  @ApiAcceptedResponse({ type: JobAnswer, description: 'The job' })
  @Refuses({ 404: 'The athlete has no such activity', 429: TOO_MANY })
  process(
    @Req() { caller: { athleteId }, id: requestId }: AuthenticatedRequest,
    @Param('id', IdParam) activityId: string,
  ): Promise<JobAnswer> {
    return this.requests.activity(athleteId, activityId, requestId);
  }

  @Get('activities/:id/state')
  @ApiOperation({
    operationId: 'getActivityState',
    summary: 'Read the processing state of an activity and its result',
    description: '`result` comes from the last run that succeeded, also while a newer run is under way.',
  })
  @ApiOkResponse({ type: ActivityStateAnswer, description: 'The state' })
  @Refuses({ 404: 'The athlete has no such activity' })
  async state(
    @Req() { caller: { athleteId } }: AuthenticatedRequest,
    @Param('id', IdParam) activityId: string,
    @Query() { jobs }: StateQuery,
  ): Promise<ActivityStateAnswer> {
    const state = await this.jobs.stateOf(athleteId, activityId);
    const write_back = (await this.writeBacks.find(athleteId, activityId)) ?? null;
    if (jobs !== 'true') return { ...state, write_back };
    return { ...state, write_back, jobs: await this.timeline.of(athleteId, activityId) };
  }

  @Get('jobs/:id')
  @ApiOperation({
    operationId: 'getJob',
    summary: 'Read a job and its attempts',
    description: 'A failed attempt is repeated, until the job has used `max_attempts` attempts.',
  })
  @ApiOkResponse({ type: JobAnswer, description: 'The job' })
  @Refuses({ 404: 'The athlete has no such job' })
  job(
    @Req() { caller: { athleteId } }: AuthenticatedRequest,
    @Param('id', IdParam) jobId: string,
  ): Promise<JobAnswer> {
    return this.jobs.find(athleteId, jobId);
  }

  @Post('jobs/:id/cancel')
  @HttpCode(200)
  @ApiOperation({
    operationId: 'cancelJob',
    summary: 'Cancel a job',
    description: 'A running job may be cancelled, too; its result is not stored.',
  })
  @ApiOkResponse({ type: JobAnswer, description: 'The job as it ended' })
  @Refuses({ 404: 'The athlete has no such job', 409: 'The job has ended already' })
  cancel(
    @Req() { caller: { athleteId } }: AuthenticatedRequest,
    @Param('id', IdParam) jobId: string,
  ): Promise<JobAnswer> {
    return this.jobs.cancel(athleteId, jobId);
  }
}
