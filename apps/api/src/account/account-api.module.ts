import { Module } from '@nestjs/common';
import { AccountModule } from '#account';
import { ActivitiesModule, personalRecords } from '#activities';
import { ConnectionRecords } from '#connections';
import { EventRecords, StravaInboxModule } from '#strava';
import { AccountController } from './account.controller.js';

const accountModule = AccountModule.asking(
  [ConnectionRecords, EventRecords, ...personalRecords],
  [ActivitiesModule, StravaInboxModule],
);

@Module({ imports: [accountModule], controllers: [AccountController], exports: [accountModule] })
export class AccountApiModule {}
