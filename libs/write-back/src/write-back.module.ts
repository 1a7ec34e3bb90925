import { type DynamicModule, Module, type Type } from '@nestjs/common';
import { StravaModule } from '#strava';
import { WriteBackRecords } from './personal-records.js';
import { PlannedWriteBacks } from './planned-write-backs.js';
import { WriteBackStore } from './write-back-store.js';
import { WriteBackWorker } from './write-back-worker.js';

const asked: Type[] = [WriteBackStore, WriteBackRecords];

@Module({})
export class WriteBackModule {
  /** To look at. */
  static asking(): DynamicModule {
    return { module: WriteBackModule, providers: asked, exports: asked };
  }

  /** To write. */
  static working(): DynamicModule {
    return {
      module: WriteBackModule,
      imports: [StravaModule],
      providers: [...asked, PlannedWriteBacks, WriteBackWorker],
      exports: [...asked, PlannedWriteBacks],
    };
  }
}
