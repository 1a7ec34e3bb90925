import { Controller, Get, Headers, HttpCode, Inject, Post, Query, Req } from '@nestjs/common';
import {
  ApiBody,
  ApiOkResponse,
  ApiOperation,
  ApiQuery,
  ApiTags,
  ApiUnauthorizedResponse,
} from '@nestjs/swagger';
import { isSignedByOura, readOuraEvent, verificationTokenOf } from '#oura';
import {
  BodyLimit,
  Clock,
  type Config,
  CONFIG,
  ErrorAnswer,
  Public,
  Unauthenticated,
  type WithRawBody,
} from '#platform';
import { VendorInbox } from '#sleep';
import { isSameSecret } from './same-secret.js';

const LARGEST_EVENT_BYTES = 64 * 1024;

@ApiTags('webhooks')
@ApiUnauthorizedResponse({ type: ErrorAnswer })
@Public()
@Controller('webhooks/oura')
export class OuraWebhookController {
  constructor(
    private readonly inbox: VendorInbox,
    private readonly clock: Clock,
    @Inject(CONFIG) private readonly config: Config,
  ) {}

  @Get()
  @ApiOperation({ summary: "Oura's question whether a subscription is wanted" })
  @ApiQuery({ name: 'verification_token' })
  @ApiQuery({ name: 'challenge' })
  @ApiOkResponse({ schema: { type: 'object', properties: { challenge: { type: 'string' } } } })
  challenge(@Query() { verification_token: token, challenge }: Record<string, unknown>) {
    const { client } = this.config.oura;
    const isTheirs = client && isSameSecret(token, verificationTokenOf(client.secret));
    if (!isTheirs || typeof challenge !== 'string')
      throw new Unauthenticated('This is not a subscription of ours');
    return { challenge };
  }

  @Post()
  @HttpCode(200)
  @BodyLimit(LARGEST_EVENT_BYTES)
  @ApiOperation({ summary: 'Something has happened at Oura' })
  @ApiBody({ schema: { type: 'object' } })
  @ApiOkResponse({ description: 'Kept, and looked into later' })
  async receive(
    @Req() { rawBody: body = '' }: WithRawBody,
    @Headers('x-oura-timestamp') timestamp = '',
    @Headers('x-oura-signature') signature = '',
  ): Promise<Record<string, never>> {
    const { client } = this.config.oura;
    const delivery = { body, timestamp, signature };
    if (!client || !isSignedByOura(delivery, client.secret, this.clock.nowMs()))
      throw new Unauthenticated('The signature is wrong or old');
    await this.inbox.fromOura(readOuraEvent(body));
    return {};
  }
}
