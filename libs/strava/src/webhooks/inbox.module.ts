import { Module } from '@nestjs/common';
import { type Redis } from 'ioredis';
import { type Config, CONFIG, Database, LOGGER, type Logger, REDIS } from '#platform';
import { nudger } from './nudge.js';
import { WebhookInbox } from './webhook-inbox.js';

@Module({
  providers: [
    {
      provide: WebhookInbox,
      inject: [Database, CONFIG, REDIS, LOGGER],
      useFactory: (database: Database, { redis: config }: Config, redis: Redis, logger: Logger) =>
        new WebhookInbox(database, nudger(config, redis, logger)),
    },
  ],
  exports: [WebhookInbox],
})
export class StravaInboxModule {}
