import { Controller, HttpCode, Post, Req, UseGuards } from '@nestjs/common';
import {
  ApiBadRequestResponse,
  ApiBody,
  ApiConflictResponse,
  ApiHeader,
  ApiInternalServerErrorResponse,
  ApiOkResponse,
  ApiOperation,
  ApiPayloadTooLargeResponse,
  ApiSecurity,
  ApiTags,
  ApiUnauthorizedResponse,
} from '@nestjs/swagger';
import { type FastifyRequest } from 'fastify';
import { ErrorAnswer, Public } from '#platform';
import { SleepIngest } from '#sleep';
import { IngestKeyGuard } from './ingest-key.guard.js';
import { SleepIngestAnswer, SleepIngestRequest } from './sleep.dto.js';

@ApiTags('sleep')
@Public()
@UseGuards(IngestKeyGuard)
@Controller('api/v1/ingest/sleep')
export class SleepIngestController {
  constructor(private readonly ingest: SleepIngest) {}

  @Post()
  @HttpCode(200)
  @ApiSecurity('ingest-key')
  @ApiOperation({ summary: 'A night, from whoever holds an ingest key' })
  @ApiHeader({
    name: 'Idempotency-Key',
    required: false,
    description: 'the same within two hours: the same event',
  })
  @ApiBody({ type: SleepIngestRequest })
  @ApiOkResponse({ type: SleepIngestAnswer, description: 'The event is in the stream' })
  @ApiBadRequestResponse({ type: ErrorAnswer })
  @ApiUnauthorizedResponse({ type: ErrorAnswer })
  @ApiConflictResponse({ type: ErrorAnswer, description: 'The Idempotency-Key came with another body' })
  @ApiPayloadTooLargeResponse({ type: ErrorAnswer })
  @ApiInternalServerErrorResponse({
    type: ErrorAnswer,
    description: 'NATS is away, nothing has been kept; Retry-After says when to come back',
  })
  async receive(@Req() { body, headers }: FastifyRequest): Promise<SleepIngestAnswer> {
    const key = headers['idempotency-key'];
    const eventId = await this.ingest.accept(body, typeof key === 'string' ? key : undefined);
    return { message: 'Sleep data received', eventId };
  }
}
