import { type DynamicModule, Module, type Provider, type Type } from '@nestjs/common';
import { CONFIG, type Config, LOGGER, type Logger, TIME_SCALE, type TimeScale } from '#platform';
import { Discovery } from './discovery/discovery.js';
import { NEW_ACTIVITIES, type NewActivities } from './discovery/new-activities.js';
import { JobList } from './lifecycle/job-list.js';
import { Jobs } from './lifecycle/jobs.js';
import { ManualRequests } from './lifecycle/manual-requests.js';
import { RUN_LISTENER, type RunListener } from './lifecycle/run-listener.js';
import { Runs } from './lifecycle/runs.js';
import { processingRecords } from './personal-records.js';
import { PROCESSOR, type Processor } from './processor.js';
import { ConfigSnapshots } from './settings/config-snapshots.js';
import { ExpiredLeases } from './worker/expired-leases.js';
import { JobGauge } from './worker/job-gauge.js';
import { JobNotifications } from './worker/job-notifications.js';
import { JobWorker } from './worker/job-worker.js';
import { WORKER_SETTINGS, workerSettings } from './worker/worker-settings.js';

const asked: Type[] = [Jobs, ManualRequests, JobList, ConfigSnapshots, ...processingRecords];
const working: Provider[] = [
  Runs,
  ExpiredLeases,
  JobGauge,
  JobWorker,
  {
    provide: WORKER_SETTINGS,
    inject: [TIME_SCALE, CONFIG],
    useFactory: (scale: TimeScale, config: Config) => workerSettings(scale, config.jobs),
  },
  {
    provide: JobNotifications,
    inject: [CONFIG, LOGGER],
    useFactory: (config: Config, logger: Logger) => new JobNotifications(config.database.url, logger),
  },
];

/** What an app may bind beside the processor. */
export interface Bindings {
  /** Who knows what is new. Without it only what somebody asks for is processed. */
  readonly newActivities?: Type<NewActivities>;
  /** Who hears of runs that have succeeded. */
  readonly listener?: Type<RunListener>;
  /** The modules that provide these. */
  readonly from: ReadonlyArray<Type | DynamicModule>;
}

@Module({})
export class JobsModule {
  /** To want activities processed, and to look at how that goes. */
  static asking(): DynamicModule {
    return { module: JobsModule, providers: asked, exports: asked };
  }

  /** To process them. `from`: the module that provides the processor. */
  static working(
    processor: Type<Processor>,
    from: Type | DynamicModule,
    { newActivities, listener, from: others }: Bindings = { from: [] },
  ): DynamicModule {
    const bound: Provider[] = [{ provide: PROCESSOR, useExisting: processor }];
    if (newActivities) bound.push(Discovery, { provide: NEW_ACTIVITIES, useExisting: newActivities });
    if (listener) bound.push({ provide: RUN_LISTENER, useExisting: listener });
    return {
      module: JobsModule,
      imports: [from, ...others],
      providers: [...asked, ...working, ...bound],
      exports: asked,
    };
  }
}
