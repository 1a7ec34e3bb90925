import { Module } from '@nestjs/common';
import { AdminModule } from '#admin';
import { jobsModule } from '../processing/jobs.js';
import { backfillModule, streamsModule } from '../streams/streams.js';
import { AdminController } from './admin.controller.js';
import { BackfillsController } from './backfills.controller.js';
import { DlqController } from './dlq.controller.js';
import { JobsController } from './jobs.controller.js';

@Module({
  imports: [AdminModule.of(streamsModule, backfillModule), jobsModule],
  controllers: [AdminController, BackfillsController, DlqController, JobsController],
})
export class AdminApiModule {}
