import { Module } from '@nestjs/common';
import { SleepModule } from '#sleep';
import { SleepController } from './sleep.controller.js';
import { SleepIngestController } from './sleep-ingest.controller.js';

@Module({ imports: [SleepModule], controllers: [SleepIngestController, SleepController] })
export class SleepApiModule {}
