import { Module } from '@nestjs/common';
import { APP_GUARD } from '@nestjs/core';
import { KnownAthleteGuard } from './known-athlete.guard.js';
import { MeController } from './me.controller.js';

@Module({
  controllers: [MeController],
  providers: [{ provide: APP_GUARD, useClass: KnownAthleteGuard }],
})
export class AthletesModule {}
