import { applyDecorators, Controller, Get, Headers, HttpCode, Param, Post, Query, Req } from '@nestjs/common';
import { ApiBody, ApiOkResponse, ApiOperation, ApiParam, ApiQuery, ApiTags } from '@nestjs/swagger';
import {
  type AppError,
  BodyLimit,
  Forbidden,
  NotFound,
  Public,
  Unauthenticated,
  UnparsedBody,
  type WithRawBody,
} from '#platform';
import { vendorsWith, type WebhookDelivery, type WebhookRefusal } from '#vendors';
import { WebhookInbox } from '#webhooks';
import { Refuses } from '../openapi/common-answers.js';

const LARGEST_EVENT_BYTES = 64 * 1024;

type RequestHeaders = WebhookDelivery['headers'];
type ReceivedRequest = WithRawBody & { readonly id: string };

/** A GET with which a vendor confirms a subscription. Each vendor names the parameters of the query in its own way. */
const Challenge = (operationId: string) =>
  applyDecorators(
    ApiOperation({
      operationId,
      summary: 'Confirm a subscription of ours at a vendor',
      description:
        'A vendor sends this request when a subscription is created. The answer repeats the vendor’s challenge.',
    }),
    ApiQuery({ name: 'challenge', required: false, description: 'Oura: the text to send back' }),
    ApiQuery({ name: 'verification_token', required: false, description: 'Oura: the subscription’s token' }),
    ApiQuery({ name: 'hub.mode', required: false, enum: ['subscribe'], description: 'Strava: `subscribe`' }),
    ApiQuery({ name: 'hub.challenge', required: false, description: 'Strava: the text to send back' }),
    ApiQuery({
      name: 'hub.verify_token',
      required: false,
      description: 'Strava: `STRAVA_WEBHOOK_VERIFY_TOKEN`',
    }),
    ApiOkResponse({
      description: 'The challenge, in a field that the vendor names',
      schema: { type: 'object', additionalProperties: { type: 'string' } },
    }),
    Refuses({
      401: 'The token does not belong to a subscription that this server created',
      403: 'The verify token is wrong',
      404: 'There is no such webhook, or the secret in the path is wrong',
    }),
  );

/** A POST with an event of a vendor. */
const Event = (operationId: string) =>
  applyDecorators(
    HttpCode(200),
    BodyLimit(LARGEST_EVENT_BYTES),
    // These routes are public, so the vendor's entry verifies a body before it is parsed.
    UnparsedBody(),
    ApiOperation({
      operationId,
      summary: 'Receive an event from a vendor',
      description:
        'The answer comes once the event is stored; a worker fetches the data afterwards. The api verifies each request as its vendor documents it: by a signature in the headers, or by a secret in the path. A vendor’s request that only tests the address is answered and not stored.',
    }),
    ApiBody({ schema: { type: 'object', additionalProperties: true } }),
    ApiOkResponse({ description: 'The event is stored', schema: { type: 'object' } }),
    Refuses({
      401: 'The signature is wrong or old',
      404: 'There is no such webhook, or the secret in the path is wrong',
      503: 'The event was not stored; send it again',
    }),
  );

const Vendor = () =>
  ApiParam({ name: 'vendor', enum: vendorsWith('webhook'), description: 'The vendor that sends events' });
const Secret = () => ApiParam({ name: 'secret', description: '`STRAVA_WEBHOOK_PATH_SECRET`' });

/** The webhook of every vendor. The vendor's part in the registry checks a request and reads its events; the inbox stores them. */
@ApiTags('vendor webhooks')
@Public()
@Controller('webhooks')
export class WebhookController {
  constructor(private readonly inbox: WebhookInbox) {}

  @Get(':vendor')
  @Vendor()
  @Challenge('verifyWebhook')
  challenge(
    @Param('vendor') vendor: string,
    @Query() query: Record<string, unknown>,
  ): Readonly<Record<string, string>> {
    return this.confirm(vendor, query);
  }

  @Get(':vendor/:secret')
  @Vendor()
  @Secret()
  @Challenge('verifySecretWebhook')
  secretChallenge(
    @Param('vendor') vendor: string,
    @Param('secret') secret: string,
    @Query() query: Record<string, unknown>,
  ): Readonly<Record<string, string>> {
    return this.confirm(vendor, query, secret);
  }

  @Post(':vendor')
  @Vendor()
  @Event('receiveWebhook')
  receive(
    @Param('vendor') vendor: string,
    @Headers() headers: RequestHeaders,
    @Req() { rawBody: body = '', id }: ReceivedRequest,
  ): Promise<Record<string, never>> {
    return this.keep(vendor, { body, headers }, id);
  }

  @Post(':vendor/:secret')
  @Vendor()
  @Secret()
  @Event('receiveSecretWebhook')
  secretReceive(
    @Param('vendor') vendor: string,
    @Param('secret') pathSecret: string,
    @Headers() headers: RequestHeaders,
    @Req() { rawBody: body = '', id }: ReceivedRequest,
  ): Promise<Record<string, never>> {
    return this.keep(vendor, { body, headers, pathSecret }, id);
  }

  private confirm(
    vendor: string,
    query: Record<string, unknown>,
    pathSecret?: string,
  ): Readonly<Record<string, string>> {
    const challenge = this.inbox.challenge(vendor, query, pathSecret);
    if (typeof challenge === 'string') throw refusal(challenge, 'This is not a subscription of ours');
    return challenge.answer;
  }

  private async keep(
    vendor: string,
    delivery: WebhookDelivery,
    requestId: string,
  ): Promise<Record<string, never>> {
    const verdict = await this.inbox.receive(vendor, delivery, requestId);
    if (verdict !== 'genuine' && verdict !== 'ping') throw refusal(verdict, 'The signature is wrong or old');
    return {};
  }
}

function refusal(kind: WebhookRefusal, message: string): AppError {
  if (kind === 'unauthenticated') return new Unauthenticated(message);
  return kind === 'forbidden' ? new Forbidden(message) : new NotFound();
}
