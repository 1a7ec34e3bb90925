import { Controller, Get, HttpCode, Param, Post, Req } from '@nestjs/common';
import {
  ApiAcceptedResponse,
  ApiBearerAuth,
  ApiConflictResponse,
  ApiNotFoundResponse,
  ApiOkResponse,
  ApiOperation,
  ApiTags,
} from '@nestjs/swagger';
import { Jobs, ManualRequests } from '#jobs';
import { type AuthenticatedRequest, ErrorAnswer, IdParam } from '#platform';
import { WriteBackStore } from '#write-back';
import { ActivityStateAnswer, JobAnswer } from './processing.dto.js';

@ApiTags('processing')
@ApiBearerAuth()
@ApiNotFoundResponse({ type: ErrorAnswer })
@Controller('v1')
export class ProcessingController {
  constructor(
    private readonly requests: ManualRequests,
    private readonly jobs: Jobs,
    private readonly writeBacks: WriteBackStore,
  ) {}

  @Post('activities/latest/process')
  @HttpCode(202)
  @ApiOperation({ summary: 'Process the newest activity, again if it has been' })
  @ApiAcceptedResponse({ type: JobAnswer, description: 'The job; the one that is under way, if there is' })
  processLatest(@Req() { caller: { athleteId } }: AuthenticatedRequest): Promise<JobAnswer> {
    return this.requests.latest(athleteId);
  }

  @Post('activities/:id/process')
  @HttpCode(202)
  @ApiOperation({ summary: 'Process an activity, again if it has been' })
  @ApiAcceptedResponse({ type: JobAnswer, description: 'The job; the one that is under way, if there is' })
  process(
    @Req() { caller: { athleteId } }: AuthenticatedRequest,
    @Param('id', IdParam) activityId: string,
  ): Promise<JobAnswer> {
    return this.requests.activity(athleteId, activityId);
  }

  @Get('activities/:id/state')
  @ApiOperation({ summary: 'Where the processing of an activity stands, and what it found' })
  @ApiOkResponse({ type: ActivityStateAnswer })
  async state(
    @Req() { caller: { athleteId } }: AuthenticatedRequest,
    @Param('id', IdParam) activityId: string,
  ): Promise<ActivityStateAnswer> {
    const state = await this.jobs.stateOf(athleteId, activityId);
    return { ...state, write_back: (await this.writeBacks.find(activityId)) ?? null };
  }

  @Get('jobs/:id')
  @ApiOperation({ summary: 'A job and its attempts' })
  @ApiOkResponse({ type: JobAnswer })
  job(
    @Req() { caller: { athleteId } }: AuthenticatedRequest,
    @Param('id', IdParam) jobId: string,
  ): Promise<JobAnswer> {
    return this.jobs.find(athleteId, jobId);
  }

  @Post('jobs/:id/cancel')
  @HttpCode(200)
  @ApiOperation({ summary: 'Cancel a job, also one that runs; what it still finds is not stored' })
  @ApiOkResponse({ type: JobAnswer })
  @ApiConflictResponse({ type: ErrorAnswer, description: 'it has finished already' })
  cancel(
    @Req() { caller: { athleteId } }: AuthenticatedRequest,
    @Param('id', IdParam) jobId: string,
  ): Promise<JobAnswer> {
    return this.jobs.cancel(athleteId, jobId);
  }
}
