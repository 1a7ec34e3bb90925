import { Module } from '@nestjs/common';
import { AdminModule } from '#admin';
import { backfillModule, streamsModule } from '../streams/streams.js';
import { AdminController } from './admin.controller.js';
import { BackfillsController } from './backfills.controller.js';
import { DlqController } from './dlq.controller.js';

@Module({
  imports: [AdminModule.of(streamsModule, backfillModule)],
  controllers: [AdminController, BackfillsController, DlqController],
})
export class AdminApiModule {}
