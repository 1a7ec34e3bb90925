import { Module } from '@nestjs/common';
import { AccountModule } from '#account';
import { ActivitiesModule, personalRecords } from '#activities';
import { ConnectionRecords } from '#connections';
import { processingRecords } from '#jobs';
import { SleepModule, sleepRecords } from '#sleep';
import { EventRecords, StravaInboxModule } from '#strava';
import { StreamRecords } from '#streams';
import { WriteBackRecords } from '#write-back';
import { AccountController } from './account.controller.js';
import { jobsModule, writeBackModule } from '../processing/jobs.js';
import { streamsModule } from '../streams/streams.js';

const accountModule = AccountModule.asking(
  [
    ConnectionRecords,
    EventRecords,
    StreamRecords,
    WriteBackRecords,
    ...processingRecords,
    ...personalRecords,
    ...sleepRecords,
  ],
  [ActivitiesModule, StravaInboxModule, streamsModule, SleepModule, jobsModule, writeBackModule],
);

@Module({ imports: [accountModule], controllers: [AccountController], exports: [accountModule] })
export class AccountApiModule {}
