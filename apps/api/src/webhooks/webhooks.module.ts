import { Module } from '@nestjs/common';
import { StravaInboxModule } from '#strava';
import { StravaWebhookController } from './strava-webhook.controller.js';

@Module({ imports: [StravaInboxModule], controllers: [StravaWebhookController] })
export class WebhooksModule {}
