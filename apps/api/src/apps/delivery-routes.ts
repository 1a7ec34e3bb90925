import { applyDecorators, Get, HttpCode, Post } from '@nestjs/common';
import { ApiAcceptedResponse, ApiOkResponse, ApiOperation, ApiParam } from '@nestjs/swagger';
import { Refuses } from '../openapi/common-answers.js';
import { DeliveriesAnswer, DeliveryAnswer } from './webhook-endpoints.dto.js';

// An app's key has these routes below /v1, and an operator has them below /admin: the path and the answers are the same.

interface Names {
  readonly operationId: string;
  /** Follows the summary, because two operations of the document must not have the same one. */
  readonly suffix?: string;
}

/** `GET {id}/deliveries` */
export const ListsDeliveries = ({ operationId, suffix = '' }: Names) =>
  applyDecorators(
    Get(':id/deliveries'),
    ApiOperation({
      operationId,
      summary: `List an endpoint’s deliveries, newest first${suffix}`,
      description: 'Deliveries are kept for `WEBHOOK_DELIVERIES_RETENTION_DAYS`, at least 30.',
    }),
    ApiOkResponse({ type: DeliveriesAnswer, description: 'A page of deliveries' }),
    Refuses({ 404: 'There is no such endpoint' }),
  );

/** `POST {id}/deliveries/{delivery}/redeliver` */
export const Redelivers = ({ operationId, suffix = '' }: Names) =>
  applyDecorators(
    Post(':id/deliveries/:delivery/redeliver'),
    HttpCode(202),
    ApiParam({ name: 'delivery', type: String, example: '4711' }),
    ApiOperation({
      operationId,
      summary: `Send a delivery again${suffix}`,
      description: 'The delivery is due at once, and may use all its attempts again.',
    }),
    ApiAcceptedResponse({ type: DeliveryAnswer, description: 'The delivery, which waits now' }),
    Refuses({ 404: 'There is no such endpoint or delivery', 409: 'The endpoint is disabled' }),
  );
