import {
  Body,
  Controller,
  Delete,
  Get,
  HttpCode,
  type MessageEvent,
  Param,
  Post,
  Sse,
  Req,
} from '@nestjs/common';
import {
  ApiAcceptedResponse,
  ApiBadRequestResponse,
  ApiBearerAuth,
  ApiConflictResponse,
  ApiNotFoundResponse,
  ApiOkResponse,
  ApiOperation,
  ApiTags,
  ApiTooManyRequestsResponse,
} from '@nestjs/swagger';
import { map, type Observable } from 'rxjs';
import { Imports, ImportWatch } from '#activities';
import { type AuthenticatedRequest, ErrorAnswer, IdParam } from '#platform';
import { retryAfter } from '../common-answers.js';
import { BeginImport, ImportAnswer } from './imports.dto.js';

@ApiTags('imports')
@ApiBearerAuth()
@Controller('v1/imports')
export class ImportsController {
  constructor(
    private readonly imports: Imports,
    private readonly watch: ImportWatch,
  ) {}

  @Post()
  @HttpCode(202)
  @ApiOperation({ summary: 'Begin an import, or get the unfinished one of that type' })
  @ApiAcceptedResponse({ type: ImportAnswer })
  @ApiBadRequestResponse({ type: ErrorAnswer })
  @ApiConflictResponse({ type: ErrorAnswer, description: 'Strava is not connected' })
  begin(
    @Req() { caller: { athleteId } }: AuthenticatedRequest,
    @Body() { type, since }: BeginImport,
  ): Promise<ImportAnswer> {
    return this.imports.begin(athleteId, type, since ?? null);
  }

  @Get(':id')
  @ApiOperation({ summary: 'How far it is, and when the rest will arrive' })
  @ApiOkResponse({ type: ImportAnswer })
  @ApiNotFoundResponse({ type: ErrorAnswer })
  look(
    @Req() { caller: { athleteId } }: AuthenticatedRequest,
    @Param('id', IdParam) id: string,
  ): Promise<ImportAnswer> {
    return this.imports.look(athleteId, id);
  }

  @Sse(':id/events')
  @ApiOperation({ summary: 'The same as server-sent events: each change, the end included' })
  @ApiOkResponse({ type: ImportAnswer })
  @ApiNotFoundResponse({ type: ErrorAnswer })
  @ApiTooManyRequestsResponse({
    type: ErrorAnswer,
    description: 'five such streams of the athlete are open, or more than the requests of a minute',
    headers: retryAfter,
  })
  async events(
    @Req() { caller: { athleteId } }: AuthenticatedRequest,
    @Param('id', IdParam) id: string,
  ): Promise<Observable<MessageEvent>> {
    const first = await this.imports.look(athleteId, id);
    return this.watch
      .follow(athleteId, id, first)
      .pipe(map((view) => (view ? { data: view } : { type: 'heartbeat', data: '' })));
  }

  @Delete(':id')
  @ApiOperation({ summary: 'Cancel it; what has been imported stays' })
  @ApiOkResponse({ type: ImportAnswer })
  @ApiNotFoundResponse({ type: ErrorAnswer })
  @ApiConflictResponse({ type: ErrorAnswer, description: 'it has ended already' })
  cancel(
    @Req() { caller: { athleteId } }: AuthenticatedRequest,
    @Param('id', IdParam) id: string,
  ): Promise<ImportAnswer> {
    return this.imports.cancel(athleteId, id);
  }
}
