import { Module } from '@nestjs/common';
import { AccountModule } from '#account';
import { ActivitiesModule, personalRecords } from '#activities';
import { ConnectionRecords } from '#connections';
import { SleepModule, sleepRecords } from '#sleep';
import { EventRecords, StravaInboxModule } from '#strava';
import { StreamRecords } from '#streams';
import { AccountController } from './account.controller.js';
import { streamsModule } from '../streams/streams.js';

const accountModule = AccountModule.asking(
  [ConnectionRecords, EventRecords, StreamRecords, ...personalRecords, ...sleepRecords],
  [ActivitiesModule, StravaInboxModule, streamsModule, SleepModule],
);

@Module({ imports: [accountModule], controllers: [AccountController], exports: [accountModule] })
export class AccountApiModule {}
