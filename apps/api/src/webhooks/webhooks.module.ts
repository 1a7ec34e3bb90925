import { Module } from '@nestjs/common';
import { SleepModule } from '#sleep';
import { StravaInboxModule } from '#strava';
import { OuraWebhookController } from './oura-webhook.controller.js';
import { StravaWebhookController } from './strava-webhook.controller.js';
import { WhoopWebhookController } from './whoop-webhook.controller.js';

@Module({
  imports: [StravaInboxModule, SleepModule],
  controllers: [StravaWebhookController, OuraWebhookController, WhoopWebhookController],
})
export class WebhooksModule {}
