import { Controller, Headers, HttpCode, Inject, Post, Req } from '@nestjs/common';
import { ApiBody, ApiOkResponse, ApiOperation, ApiTags, ApiUnauthorizedResponse } from '@nestjs/swagger';
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
import { isSignedByWhoop, readWhoopEvent } from '#whoop';

const LARGEST_EVENT_BYTES = 64 * 1024;

@ApiTags('webhooks')
@ApiUnauthorizedResponse({ type: ErrorAnswer })
@Public()
@Controller('webhooks/whoop')
export class WhoopWebhookController {
  constructor(
    private readonly inbox: VendorInbox,
    private readonly clock: Clock,
    @Inject(CONFIG) private readonly config: Config,
  ) {}

  @Post()
  @HttpCode(200)
  @BodyLimit(LARGEST_EVENT_BYTES)
  @ApiOperation({ summary: 'Something has happened at WHOOP' })
  @ApiBody({ schema: { type: 'object' } })
  @ApiOkResponse({ description: 'Kept, and looked into later' })
  async receive(
    @Req() { rawBody: body = '' }: WithRawBody,
    @Headers('x-whoop-signature-timestamp') timestamp = '',
    @Headers('x-whoop-signature') signature = '',
  ): Promise<Record<string, never>> {
    const { client } = this.config.whoop;
    const delivery = { body, timestamp, signature };
    if (!client || !isSignedByWhoop(delivery, client.secret, this.clock.nowMs()))
      throw new Unauthenticated('The signature is wrong or old');
    await this.inbox.fromWhoop(readWhoopEvent(body));
    return {};
  }
}
