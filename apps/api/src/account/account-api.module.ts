import { Module } from '@nestjs/common';
import { AccountModule } from '#account';
import { ActivitiesModule, personalRecords } from '#activities';
import { AccountController } from './account.controller.js';

const accountModule = AccountModule.asking(personalRecords, [ActivitiesModule]);

@Module({ imports: [accountModule], controllers: [AccountController], exports: [accountModule] })
export class AccountApiModule {}
