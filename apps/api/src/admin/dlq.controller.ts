import { Body, Controller, Delete, Get, HttpCode, Param, Post, Query, Req } from '@nestjs/common';
import { ApiAcceptedResponse, ApiOkResponse, ApiOperation, ApiTags } from '@nestjs/swagger';
import { DeadLetterOperations } from '#admin';
import { Admin, type AuthenticatedRequest, BodyLimit, LARGEST_BODY_BYTES } from '#platform';
import { Refuses } from '../openapi/common-answers.js';
import {
  DeadLetterAnswer,
  DeadLettersAnswer,
  DeadLettersQuery,
  LetterSeq,
  LettersFilter,
  MatchedAnswer,
} from './dlq.dto.js';

/** Lists, replays and discards dead letters. A worker replays or discards many dead letters after the answer. */
@ApiTags('admin')
@Admin()
@Controller('admin/dlq')
export class DlqController {
  constructor(private readonly deadLetters: DeadLetterOperations) {}

  @Get()
  @ApiOperation({
    operationId: 'listDeadLetters',
    summary: 'List dead letters, oldest first',
    description:
      'A dead letter is a message that could not be processed. It is kept for `DLQ_RETENTION_DAYS`.',
  })
  @ApiOkResponse({ type: DeadLettersAnswer, description: 'A page of dead letters' })
  list(@Query() { cursor, limit, ...filter }: DeadLettersQuery): Promise<DeadLettersAnswer> {
    return this.deadLetters.list(cursor, limit, filter);
  }

  @Post('replay')
  @BodyLimit(LARGEST_BODY_BYTES)
  @HttpCode(202)
  @ApiOperation({
    operationId: 'replayDeadLetters',
    summary: 'Replay the dead letters that match the body; without a body, all of them',
    description:
      'A worker replays the messages after the answer. Meanwhile `counts` of `GET /admin/dlq` falls. A message that fails again becomes a new dead letter and is not replayed a second time.',
  })
  @ApiAcceptedResponse({ type: MatchedAnswer, description: 'A worker replays the messages' })
  replayAll(@Req() { caller }: AuthenticatedRequest, @Body() filter?: LettersFilter): Promise<MatchedAnswer> {
    return this.order('replay', caller.subject, filter);
  }

  @Post('discard')
  @BodyLimit(LARGEST_BODY_BYTES)
  @HttpCode(202)
  @ApiOperation({
    operationId: 'discardDeadLetters',
    summary: 'Discard the dead letters that match the body; without a body, all of them',
    description:
      'A worker discards the messages after the answer. Meanwhile `counts` of `GET /admin/dlq` falls. The messages are lost.',
  })
  @ApiAcceptedResponse({ type: MatchedAnswer, description: 'A worker discards the messages' })
  discardAll(
    @Req() { caller }: AuthenticatedRequest,
    @Body() filter?: LettersFilter,
  ): Promise<MatchedAnswer> {
    return this.order('discard', caller.subject, filter);
  }

  @Get(':seq')
  @ApiOperation({
    operationId: 'getDeadLetter',
    summary: 'Read one dead letter',
    description: 'The answer has the message as it was received, and why it failed.',
  })
  @ApiOkResponse({ type: DeadLetterAnswer, description: 'The dead letter' })
  @Refuses({ 404: 'There is no such dead letter' })
  find(@Param() { seq }: LetterSeq): Promise<DeadLetterAnswer> {
    return this.deadLetters.find(seq);
  }

  @Post(':seq/replay')
  @HttpCode(200)
  @ApiOperation({
    operationId: 'replayDeadLetter',
    summary: 'Publish a dead letter again as a new message',
    description: 'The message goes to its original subject, and the dead letter is removed.',
  })
  @ApiOkResponse({ type: DeadLetterAnswer, description: 'The dead letter as it was' })
  @Refuses({ 404: 'There is no such dead letter' })
  replay(@Param() { seq }: LetterSeq, @Req() { caller }: AuthenticatedRequest): Promise<DeadLetterAnswer> {
    return this.deadLetters.replay(seq, caller.subject);
  }

  @Delete(':seq')
  @ApiOperation({
    operationId: 'discardDeadLetter',
    summary: 'Delete a dead letter',
    description: 'The message is lost. Delete only a message that is wrong or out of date.',
  })
  @ApiOkResponse({ type: DeadLetterAnswer, description: 'The dead letter as it was' })
  @Refuses({ 404: 'There is no such dead letter' })
  discard(@Param() { seq }: LetterSeq, @Req() { caller }: AuthenticatedRequest): Promise<DeadLetterAnswer> {
    return this.deadLetters.discard(seq, caller.subject);
  }

  private async order(
    action: 'replay' | 'discard',
    actor: string,
    { reason, subject, seqs }: LettersFilter = {},
  ): Promise<MatchedAnswer> {
    // Clients send null for an absent field.
    const filter = { reason: reason ?? undefined, subject: subject ?? undefined, seqs: seqs ?? undefined };
    return { matched: await this.deadLetters.order(action, filter, actor) };
  }
}
