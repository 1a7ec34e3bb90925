import { Body, Controller, Delete, Get, Header, HttpCode, Param, Patch, Post, Query } from '@nestjs/common';
import {
  ApiAcceptedResponse,
  ApiCreatedResponse,
  ApiNoContentResponse,
  ApiOkResponse,
  ApiOperation,
  ApiTags,
} from '@nestjs/swagger';
import { BodyLimit, IdParam, InvalidInput, NeedsScope, ServiceOnly, SMALL_BODY_BYTES } from '#platform';
import { EndpointDeliveries, WebhookEndpoints } from '#push';
import { SpansAthletes } from '../athletes/known-athlete.guard.js';
import { Refuses } from '../openapi/common-answers.js';
import { ListsDeliveries, Redelivers } from './delivery-routes.js';
import {
  CreatedWebhookEndpointAnswer,
  DeliveriesAnswer,
  DeliveriesQuery,
  DeliveryAnswer,
  DeliveryIdParam,
  NewWebhookEndpoint,
  ReplayAnswer,
  ReplayRange,
  RotatedSecretAnswer,
  WebhookEndpointAnswer,
  WebhookEndpointChange,
  WebhookEndpointsAnswer,
} from './webhook-endpoints.dto.js';

/** The app's endpoints, to which changes are posted by the Standard Webhooks specification. */
@ApiTags('webhooks')
@ServiceOnly()
@NeedsScope('events')
@SpansAthletes()
@Controller('v1/webhook-endpoints')
export class WebhookEndpointsController {
  constructor(
    private readonly endpoints: WebhookEndpoints,
    private readonly deliveries: EndpointDeliveries,
  ) {}

  @Post()
  @BodyLimit(SMALL_BODY_BYTES)
  @Header('cache-control', 'no-store')
  @ApiOperation({
    operationId: 'createWebhookEndpoint',
    summary: 'Create an endpoint that changes are posted to',
    description:
      'Each delivery has the headers `webhook-id` (the id of the change), `webhook-timestamp` and `webhook-signature` of the Standard Webhooks specification. Only this answer has the secret. There are 50 endpoints at most.',
  })
  @ApiCreatedResponse({ type: CreatedWebhookEndpointAnswer, description: 'The endpoint, with its secret' })
  create(@Body() body: NewWebhookEndpoint): Promise<CreatedWebhookEndpointAnswer> {
    return this.endpoints.create(body);
  }

  @Get()
  @ApiOperation({
    operationId: 'listWebhookEndpoints',
    summary: 'List all endpoints, oldest first',
    description: 'There are 50 at most, so the list has one page.',
  })
  @ApiOkResponse({ type: WebhookEndpointsAnswer, description: 'All endpoints' })
  async list(): Promise<WebhookEndpointsAnswer> {
    return { items: await this.endpoints.list(), next_cursor: null };
  }

  @Get(':id')
  @ApiOperation({
    operationId: 'getWebhookEndpoint',
    summary: 'Read one endpoint',
    description: '`disabled_reason` says why a disabled endpoint gets nothing.',
  })
  @ApiOkResponse({ type: WebhookEndpointAnswer, description: 'The endpoint' })
  @Refuses({ 404: 'There is no such endpoint' })
  find(@Param('id', IdParam) id: string): Promise<WebhookEndpointAnswer> {
    return this.endpoints.find(id);
  }

  @Patch(':id')
  @BodyLimit(SMALL_BODY_BYTES)
  @ApiOperation({
    operationId: 'changeWebhookEndpoint',
    summary: 'Change an endpoint, disable it, or enable it again',
    description:
      'Fields that the body lacks stay as they are. A disabled endpoint gets no deliveries for new changes; `replay` delivers those later. The deliveries that waited are sent once the endpoint is active again. After a change of `url`, requests that are under way to the old URL are not cut off; requests to the new URL begin within 30 s.',
  })
  @ApiOkResponse({ type: WebhookEndpointAnswer, description: 'The changed endpoint' })
  @Refuses({ 404: 'There is no such endpoint' })
  change(
    @Param('id', IdParam) id: string,
    @Body() body: WebhookEndpointChange,
  ): Promise<WebhookEndpointAnswer> {
    return this.endpoints.change(id, body);
  }

  @Delete(':id')
  @HttpCode(204)
  @ApiOperation({
    operationId: 'deleteWebhookEndpoint',
    summary: 'Delete an endpoint and its deliveries',
    description: 'An attempt that is under way still ends.',
  })
  @ApiNoContentResponse({ description: 'The endpoint is deleted' })
  @Refuses({ 404: 'There is no such endpoint' })
  remove(@Param('id', IdParam) id: string): Promise<void> {
    return this.endpoints.remove(id);
  }

  @Post(':id/rotate-secret')
  @HttpCode(200)
  @Header('cache-control', 'no-store')
  @ApiOperation({
    operationId: 'rotateWebhookSecret',
    summary: 'Replace an endpoint’s secret',
    description: 'For 24 hours, deliveries have two signatures: of the new and of the old secret.',
  })
  @ApiOkResponse({ type: RotatedSecretAnswer, description: 'The new secret' })
  @Refuses({ 404: 'There is no such endpoint' })
  rotate(@Param('id', IdParam) id: string): Promise<RotatedSecretAnswer> {
    return this.endpoints.rotateSecret(id);
  }

  @Post(':id/test')
  @HttpCode(202)
  @ApiOperation({
    operationId: 'testWebhookEndpoint',
    summary: 'Send a test to an endpoint',
    description:
      'The body is a change of type `test` that is in no feed. The list of deliveries shows how it ended.',
  })
  @ApiAcceptedResponse({ type: DeliveryAnswer, description: 'The delivery of the test' })
  @Refuses({ 404: 'There is no such endpoint', 409: 'The endpoint is disabled' })
  test(@Param('id', IdParam) id: string): Promise<DeliveryAnswer> {
    return this.deliveries.test(id);
  }

  @Post(':id/replay')
  @HttpCode(202)
  @BodyLimit(SMALL_BODY_BYTES)
  @ApiOperation({
    operationId: 'replayWebhookChanges',
    summary: 'Deliver the changes between two times again',
    description:
      'Delivers all changes from `from` to `to` that are still kept and whose type the endpoint wants, also those from before the endpoint existed. A worker makes the deliveries after the answer; each has the same `webhook-id` as before.',
  })
  @ApiAcceptedResponse({ type: ReplayAnswer, description: 'The replay is queued' })
  @Refuses({ 404: 'There is no such endpoint', 409: 'The endpoint has ten replays under way' })
  async replay(@Param('id', IdParam) id: string, @Body() { from, to }: ReplayRange): Promise<ReplayAnswer> {
    if (to && to < from) throw new InvalidInput(['to: must not be before `from`']);
    await this.deliveries.replay(id, from, to ?? undefined);
    return { status: 'queued' };
  }

  @ListsDeliveries({ operationId: 'listWebhookDeliveries' })
  listDeliveries(
    @Param('id', IdParam) id: string,
    @Query() query: DeliveriesQuery,
  ): Promise<DeliveriesAnswer> {
    return this.deliveries.list(id, query);
  }

  @Redelivers({ operationId: 'redeliverWebhook' })
  redeliver(
    @Param('id', IdParam) id: string,
    @Param('delivery', DeliveryIdParam) delivery: number,
  ): Promise<DeliveryAnswer> {
    return this.deliveries.redeliver(id, delivery);
  }
}
