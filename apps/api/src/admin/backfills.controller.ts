import { Controller, HttpCode, Param, Post } from '@nestjs/common';
import {
  ApiAcceptedResponse,
  ApiBearerAuth,
  ApiForbiddenResponse,
  ApiNotFoundResponse,
  ApiOkResponse,
  ApiOperation,
  ApiTags,
} from '@nestjs/swagger';
import { Operations } from '#admin';
import { Admin, ErrorAnswer, IdParam } from '#platform';
import { BackfillQueuedAnswer, BackfillSwitchAnswer, FetchStateAnswer } from './admin.dto.js';

@ApiTags('admin')
@ApiBearerAuth()
@ApiForbiddenResponse({ type: ErrorAnswer })
@Admin()
@Controller('admin')
export class BackfillsController {
  constructor(private readonly operations: Operations) {}

  @Post('activities/:id/reset-stream-fetch')
  @HttpCode(200)
  @ApiOperation({
    summary: 'Fetch an activity’s streams anew, whatever came of it before; what is stored stays until then',
  })
  @ApiOkResponse({ type: FetchStateAnswer })
  @ApiNotFoundResponse({ type: ErrorAnswer })
  reset(@Param('id', IdParam) activityId: string): Promise<FetchStateAnswer> {
    return this.operations.resetStreamFetch(activityId);
  }

  @Post('athletes/:id/backfill')
  @HttpCode(202)
  @ApiOperation({ summary: 'Go on with an athlete’s backfill now' })
  @ApiAcceptedResponse({ type: BackfillQueuedAnswer })
  @ApiNotFoundResponse({ type: ErrorAnswer })
  async begin(@Param('id', IdParam) athleteId: string): Promise<BackfillQueuedAnswer> {
    await this.operations.beginBackfill(athleteId);
    return { athlete_id: athleteId, status: 'queued' };
  }

  @Post('backfills/pause')
  @HttpCode(202)
  @ApiOperation({ summary: 'No more streams are fetched but those somebody waits for, until resumed' })
  @ApiAcceptedResponse({ type: BackfillSwitchAnswer })
  async pause(): Promise<BackfillSwitchAnswer> {
    await this.operations.pauseBackfills();
    return { status: 'paused' };
  }

  @Post('backfills/resume')
  @HttpCode(202)
  @ApiOperation({ summary: 'Go on with all backfills' })
  @ApiAcceptedResponse({ type: BackfillSwitchAnswer })
  async resume(): Promise<BackfillSwitchAnswer> {
    await this.operations.resumeBackfills();
    return { status: 'running' };
  }
}
