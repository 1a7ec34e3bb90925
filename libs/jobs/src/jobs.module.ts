import { type DynamicModule, Module, type Provider, type Type } from '@nestjs/common';
import { CONFIG, type Config, LOGGER, type Logger, TIME_SCALE } from '#platform';
import { Jobs } from './lifecycle/jobs.js';
import { Runs } from './lifecycle/runs.js';
import { PROCESSOR, type Processor } from './processor.js';
import { ConfigSnapshots } from './settings/config-snapshots.js';
import { ExpiredLeases } from './worker/expired-leases.js';
import { JobGauge } from './worker/job-gauge.js';
import { JobNotifications } from './worker/job-notifications.js';
import { JobWorker } from './worker/job-worker.js';
import { WORKER_SETTINGS, workerSettings } from './worker/worker-settings.js';

const asked: Type[] = [Jobs, ConfigSnapshots];
const working: Provider[] = [
  Runs,
  ExpiredLeases,
  JobGauge,
  JobWorker,
  { provide: WORKER_SETTINGS, inject: [TIME_SCALE], useFactory: workerSettings },
  {
    provide: JobNotifications,
    inject: [CONFIG, LOGGER],
    useFactory: (config: Config, logger: Logger) => new JobNotifications(config.database.url, logger),
  },
];

@Module({})
export class JobsModule {
  /** To want activities processed, and to look at how that goes. */
  static asking(): DynamicModule {
    return { module: JobsModule, providers: asked, exports: asked };
  }

  /** To process them. `from`: the module that provides the processor. */
  static working(processor: Type<Processor>, from: Type | DynamicModule): DynamicModule {
    const bound = { provide: PROCESSOR, useExisting: processor };
    return {
      module: JobsModule,
      imports: [from],
      providers: [...asked, ...working, bound],
      exports: asked,
    };
  }
}
