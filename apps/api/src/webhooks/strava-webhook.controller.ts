import { Controller, Get, HttpCode, Inject, Param, Post, Query, Req } from '@nestjs/common';
import {
  ApiBadRequestResponse,
  ApiBody,
  ApiForbiddenResponse,
  ApiNotFoundResponse,
  ApiOkResponse,
  ApiOperation,
  ApiParam,
  ApiPayloadTooLargeResponse,
  ApiQuery,
  ApiServiceUnavailableResponse,
  ApiTags,
} from '@nestjs/swagger';
import {
  BodyLimit,
  type Config,
  CONFIG,
  ErrorAnswer,
  Forbidden,
  InvalidInput,
  NotFound,
  Public,
  type WithRawBody,
} from '#platform';
import { WebhookInbox } from '#strava';
import { isSameSecret } from './same-secret.js';

const LARGEST_EVENT_BYTES = 64 * 1024;

/** Strava signs nothing: who knows the path may leave hints here, and what they say is asked for at Strava. */
@ApiTags('webhooks')
@ApiParam({ name: 'secret', description: 'STRAVA_WEBHOOK_PATH_SECRET' })
@ApiNotFoundResponse({ type: ErrorAnswer, description: 'Another secret' })
@Public()
@Controller('webhooks/strava/:secret')
export class StravaWebhookController {
  constructor(
    private readonly inbox: WebhookInbox,
    @Inject(CONFIG) private readonly config: Config,
  ) {}

  @Get()
  @ApiOperation({ summary: "Strava's question whether a subscription is wanted" })
  @ApiQuery({ name: 'hub.mode' })
  @ApiQuery({ name: 'hub.challenge' })
  @ApiQuery({ name: 'hub.verify_token' })
  @ApiOkResponse({ schema: { type: 'object', properties: { 'hub.challenge': { type: 'string' } } } })
  @ApiForbiddenResponse({ type: ErrorAnswer, description: 'Another verify token' })
  challenge(@Param('secret') secret: string, @Query() query: Record<string, unknown>) {
    this.requirePath(secret);
    const { 'hub.mode': mode, 'hub.challenge': challenge, 'hub.verify_token': token } = query;
    const isTheirs = isSameSecret(token, this.config.strava.webhookVerifyToken);
    if (!isTheirs || mode !== 'subscribe' || typeof challenge !== 'string')
      throw new Forbidden('This is not a subscription of ours');
    return { 'hub.challenge': challenge };
  }

  @Post()
  @HttpCode(200)
  @BodyLimit(LARGEST_EVENT_BYTES)
  @ApiOperation({ summary: 'Something has happened at Strava' })
  @ApiBody({ schema: { type: 'object' } })
  @ApiOkResponse({ description: 'Kept, and looked into later' })
  @ApiBadRequestResponse({ type: ErrorAnswer, description: 'No event of Strava' })
  @ApiPayloadTooLargeResponse({ type: ErrorAnswer })
  @ApiServiceUnavailableResponse({ type: ErrorAnswer, description: 'Not kept: send it again' })
  async receive(
    @Param('secret') secret: string,
    @Req() { rawBody }: WithRawBody,
  ): Promise<Record<string, never>> {
    this.requirePath(secret);
    if (!rawBody) throw new InvalidInput(['body: is missing']);
    await this.inbox.receive(rawBody);
    return {};
  }

  private requirePath(secret: string): void {
    if (!isSameSecret(secret, this.config.strava.webhookPathSecret)) throw new NotFound();
  }
}
