import { Module } from '@nestjs/common';
import { jobsModule, writeBackModule } from './jobs.js';
import { ProcessingController } from './processing.controller.js';

@Module({ imports: [jobsModule, writeBackModule], controllers: [ProcessingController] })
export class ProcessingApiModule {}
