import { Controller, Delete, Get, HttpCode, Param, Post, Query, Req } from '@nestjs/common';
import {
  ApiBearerAuth,
  ApiForbiddenResponse,
  ApiNotFoundResponse,
  ApiOkResponse,
  ApiOperation,
  ApiTags,
} from '@nestjs/swagger';
import { DeadLetterOffice } from '#admin';
import { Admin, type AuthenticatedRequest, ErrorAnswer } from '#platform';
import { DeadLetterAnswer, DeadLettersAnswer, DeadLettersQuery, LetterSeq } from './dlq.dto.js';

@ApiTags('admin')
@ApiBearerAuth()
@ApiForbiddenResponse({ type: ErrorAnswer })
@Admin()
@Controller('admin/dlq')
export class DlqController {
  constructor(private readonly office: DeadLetterOffice) {}

  @Get()
  @ApiOperation({ summary: 'Messages that could not be worked on, in the order in which they failed' })
  @ApiOkResponse({ type: DeadLettersAnswer })
  list(@Query() { cursor, limit }: DeadLettersQuery): Promise<DeadLettersAnswer> {
    return this.office.list(cursor, limit);
  }

  @Get(':seq')
  @ApiOperation({ summary: 'One of them' })
  @ApiOkResponse({ type: DeadLetterAnswer })
  @ApiNotFoundResponse({ type: ErrorAnswer })
  find(@Param() { seq }: LetterSeq): Promise<DeadLetterAnswer> {
    return this.office.find(seq);
  }

  @Post(':seq/replay')
  @HttpCode(200)
  @ApiOperation({ summary: 'Publish it again where it came from, as a new message' })
  @ApiOkResponse({ type: DeadLetterAnswer, description: 'It was; it has left the dead letters' })
  @ApiNotFoundResponse({ type: ErrorAnswer })
  replay(@Param() { seq }: LetterSeq, @Req() { caller }: AuthenticatedRequest): Promise<DeadLetterAnswer> {
    return this.office.replay(seq, caller.subject);
  }

  @Delete(':seq')
  @ApiOperation({ summary: 'Give it up' })
  @ApiOkResponse({ type: DeadLetterAnswer, description: 'What it was' })
  @ApiNotFoundResponse({ type: ErrorAnswer })
  discard(@Param() { seq }: LetterSeq, @Req() { caller }: AuthenticatedRequest): Promise<DeadLetterAnswer> {
    return this.office.discard(seq, caller.subject);
  }
}
