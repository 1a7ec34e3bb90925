import { Module } from '@nestjs/common';
import { ProcessingBindings } from '#processing';
import { VendorsModule } from '#vendors';
import { WriteBackRecords } from './personal-records.js';
import { PlannedWriteBacks } from './write-back-store.js';
import { WriteBackStore } from './write-back-store.js';
import { WriteBackWorker } from './write-back-worker.js';

/** For the api and other libs: reads write-backs; makes no call. */
@Module({
  providers: [WriteBackStore, WriteBackRecords],
  exports: [WriteBackStore, WriteBackRecords],
})
export class WriteBackModule {}

/** For the worker: plans write-backs when runs succeed, and writes titles and descriptions to the vendor. */
@Module({ imports: [WriteBackModule, VendorsModule], providers: [PlannedWriteBacks, WriteBackWorker] })
export class WriteBackWorkModule {
  constructor(bindings: ProcessingBindings, planned: PlannedWriteBacks) {
    bindings.runListener.register(planned);
  }
}
