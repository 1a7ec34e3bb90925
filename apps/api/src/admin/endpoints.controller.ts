import { Controller, Get, HttpCode, Param, Post, Query, Req } from '@nestjs/common';
import { ApiOkResponse, ApiOperation, ApiTags } from '@nestjs/swagger';
import { EndpointOperations } from '#admin';
import { Admin, type AuthenticatedRequest, IdParam } from '#platform';
import { ListsDeliveries, Redelivers } from '../apps/delivery-routes.js';
import {
  DeliveriesAnswer,
  DeliveriesQuery,
  DeliveryAnswer,
  DeliveryIdParam,
} from '../apps/webhook-endpoints.dto.js';
import { Refuses } from '../openapi/common-answers.js';
import { EndpointHealthAnswer, EndpointsHealthAnswer } from './endpoints.dto.js';

/** Apps' webhook endpoints as operators see them. The routes below /v1 are for the app's own key. */
@ApiTags('admin')
@Admin()
@Controller('admin/webhook-endpoints')
export class AdminEndpointsController {
  constructor(private readonly endpoints: EndpointOperations) {}

  @Get()
  @ApiOperation({
    operationId: 'listEndpointHealth',
    summary: 'List all endpoints with the health of their deliveries, oldest first',
    description: 'There are 50 at most, so the list has one page.',
  })
  @ApiOkResponse({ type: EndpointsHealthAnswer, description: 'All endpoints' })
  async list(): Promise<EndpointsHealthAnswer> {
    return { items: await this.endpoints.list(), next_cursor: null };
  }

  @ListsDeliveries({ operationId: 'listEndpointDeliveries', suffix: ', as an operator' })
  listDeliveries(
    @Param('id', IdParam) id: string,
    @Query() query: DeliveriesQuery,
  ): Promise<DeliveriesAnswer> {
    return this.endpoints.listDeliveries(id, query);
  }

  @Redelivers({ operationId: 'redeliverAsOperator', suffix: ', as an operator' })
  redeliver(
    @Req() { caller }: AuthenticatedRequest,
    @Param('id', IdParam) id: string,
    @Param('delivery', DeliveryIdParam) delivery: number,
  ): Promise<DeliveryAnswer> {
    return this.endpoints.redeliver(id, delivery, caller.subject);
  }

  @Post(':id/enable')
  @HttpCode(200)
  @ApiOperation({
    operationId: 'enableEndpoint',
    summary: 'Enable an endpoint, and close its circuit breaker',
    description: 'The deliveries that waited are sent.',
  })
  @ApiOkResponse({ type: EndpointHealthAnswer, description: 'The endpoint' })
  @Refuses({ 404: 'There is no such endpoint' })
  enable(
    @Req() { caller }: AuthenticatedRequest,
    @Param('id', IdParam) id: string,
  ): Promise<EndpointHealthAnswer> {
    return this.endpoints.setStatus(id, 'active', caller.subject);
  }

  @Post(':id/disable')
  @HttpCode(200)
  @ApiOperation({
    operationId: 'disableEndpoint',
    summary: 'Disable an endpoint',
    description: 'It gets no deliveries for new changes, and those that wait stay.',
  })
  @ApiOkResponse({ type: EndpointHealthAnswer, description: 'The endpoint' })
  @Refuses({ 404: 'There is no such endpoint' })
  disable(
    @Req() { caller }: AuthenticatedRequest,
    @Param('id', IdParam) id: string,
  ): Promise<EndpointHealthAnswer> {
    return this.endpoints.setStatus(id, 'disabled', caller.subject);
  }
}
