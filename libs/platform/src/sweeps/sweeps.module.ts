import { Global, Module } from '@nestjs/common';
import { ScheduleModule } from '@nestjs/schedule';
import { Sweeps } from './sweeps.js';

/** Provides the sweeps of a worker. */
@Global()
@Module({
  imports: [ScheduleModule.forRoot()],
  providers: [Sweeps],
  exports: [Sweeps],
})
export class SweepsModule {}
