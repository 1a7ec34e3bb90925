import { Module } from '@nestjs/common';
import { AccountModule } from '#account';
import { ActivitiesModule, personalRecords } from '#activities';
import { ConnectionRecords } from '#connections';
import { AccountController } from './account.controller.js';

const accountModule = AccountModule.asking([ConnectionRecords, ...personalRecords], [ActivitiesModule]);

@Module({ imports: [accountModule], controllers: [AccountController], exports: [accountModule] })
export class AccountApiModule {}
