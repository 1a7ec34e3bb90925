import { Controller, Get, HttpCode, Param, Post, Query, Req } from '@nestjs/common';
import { ApiOkResponse, ApiOperation, ApiTags } from '@nestjs/swagger';
import { Admin, type AuthenticatedRequest } from '#platform';
import { WebhookEvents } from '#webhooks';
import { Refuses } from '../openapi/common-answers.js';
import {
  WebhookEventAnswer,
  WebhookEventId,
  WebhookEventsAnswer,
  WebhookEventsQuery,
} from './webhook-events.dto.js';

/** Lists the vendors' events that wait or were set aside, and retries those that were set aside. */
@ApiTags('admin')
@Admin()
@Controller('admin/webhook-events')
export class WebhookEventsController {
  constructor(private readonly events: WebhookEvents) {}

  @Get()
  @ApiOperation({
    operationId: 'listWebhookEvents',
    summary: 'List vendors’ events that wait or were set aside, oldest first',
    description:
      'An event is set aside after its last failed attempt, and is deleted after `WEBHOOK_EVENTS_RETENTION_DAYS` (7).',
  })
  @ApiOkResponse({ type: WebhookEventsAnswer, description: 'A page of events' })
  list(@Query() query: WebhookEventsQuery): Promise<WebhookEventsAnswer> {
    return this.events.list(query);
  }

  @Post(':id/retry')
  @HttpCode(200)
  @ApiOperation({
    operationId: 'retryWebhookEvent',
    summary: 'Retry an event that was set aside',
    description: 'The event is due at once, and may use all its attempts again.',
  })
  @ApiOkResponse({ type: WebhookEventAnswer, description: 'The event, which waits now' })
  @Refuses({ 404: 'There is no such event, or it was not set aside' })
  retry(
    @Param() { id }: WebhookEventId,
    @Req() { caller }: AuthenticatedRequest,
  ): Promise<WebhookEventAnswer> {
    return this.events.retry(id, caller.subject);
  }
}
