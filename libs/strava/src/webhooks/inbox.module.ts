import { Module } from '@nestjs/common';
import { type Redis } from 'ioredis';
import { type Config, CONFIG, Database, LOGGER, type Logger, REDIS } from '#platform';
import { EventRecords } from './event-records.js';
import { nudger } from './nudge.js';
import { WebhookInbox } from './webhook-inbox.js';

@Module({
  providers: [
    EventRecords,
    {
      provide: WebhookInbox,
      inject: [Database, CONFIG, REDIS, LOGGER],
      useFactory: (database: Database, { redis: config }: Config, redis: Redis, logger: Logger) =>
        new WebhookInbox(database, nudger(config, redis, logger)),
    },
  ],
  exports: [WebhookInbox, EventRecords],
})
export class StravaInboxModule {}
