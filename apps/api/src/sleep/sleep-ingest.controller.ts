import { Controller, HttpCode, Post, Req, UseGuards } from '@nestjs/common';
import { ApiBody, ApiHeader, ApiOkResponse, ApiOperation, ApiSecurity, ApiTags } from '@nestjs/swagger';
import { type FastifyRequest } from 'fastify';
import { BodyLimit, CheckSender, LARGEST_BODY_BYTES, Public } from '#platform';
import { SleepIngest } from '#sleep';
import { Refuses, SERVICE_KEY } from '../openapi/common-answers.js';
import { IngestKeyGuard, ingestKeyOf } from './ingest-key.guard.js';
import { SleepIngestAnswer, SleepIngestRequest } from './sleep.dto.js';

/** Receives nights from backends. The answer comes once the event is in the stream; the night is stored shortly after. */
@ApiTags('sleep')
@Public()
@CheckSender(IngestKeyGuard)
@UseGuards(IngestKeyGuard)
@Controller('api/v1/ingest/sleep')
export class SleepIngestController {
  constructor(private readonly ingest: SleepIngest) {}

  @Post()
  @BodyLimit(LARGEST_BODY_BYTES)
  @HttpCode(200)
  @ApiSecurity(SERVICE_KEY, ['ingest'])
  @ApiSecurity('ingest-key')
  @ApiOperation({
    operationId: 'ingestSleep',
    summary: 'Send a night',
    description:
      'For backends that have nights of their own. The answer comes once the event is stored durably; the night appears in `GET /v1/sleep` shortly after.',
  })
  @ApiHeader({
    name: 'Idempotency-Key',
    required: false,
    description:
      'Makes retries safe: for two hours, a request with the same key, user and body is stored only once',
  })
  @ApiBody({ type: SleepIngestRequest })
  @ApiOkResponse({ type: SleepIngestAnswer, description: 'The event is stored' })
  @Refuses({
    401: 'The key is missing or wrong',
    403: 'The service key lacks the scope `ingest`',
    409: 'The `Idempotency-Key` was sent before with another body',
    500: 'NATS is away and nothing was kept; send it again after `Retry-After`',
    503: 'The service key cannot be checked now; try again',
  })
  async receive(@Req() request: FastifyRequest): Promise<SleepIngestAnswer> {
    const key = request.headers['idempotency-key'];
    const idempotency =
      typeof key === 'string' ? { key, ingestKey: String(ingestKeyOf(request)) } : undefined;
    const eventId = await this.ingest.accept(request.body, idempotency, request.id);
    return { message: 'Sleep data received', eventId };
  }
}
