import { Module } from '@nestjs/common';
import { AccountModule } from '#account';
import { ActivitiesModule, personalRecords } from '#activities';
import { ConnectionRecords } from '#connections';
import { EventRecords, StravaInboxModule } from '#strava';
import { StreamRecords } from '#streams';
import { AccountController } from './account.controller.js';
import { streamsModule } from '../streams/streams.js';

const accountModule = AccountModule.asking(
  [ConnectionRecords, EventRecords, StreamRecords, ...personalRecords],
  [ActivitiesModule, StravaInboxModule, streamsModule],
);

@Module({ imports: [accountModule], controllers: [AccountController], exports: [accountModule] })
export class AccountApiModule {}
