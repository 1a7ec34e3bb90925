import {
  type BeforeApplicationShutdown,
  Global,
  Inject,
  Module,
  type OnApplicationBootstrap,
} from '@nestjs/common';
import { CONFIG, type Config, Database, LOGGER, type Logger, TIME_SCALE, type TimeScale } from '#platform';
import { ProcessingBindings } from './bindings.js';
import { Discovery } from './discovery/discovery.js';
import { JobList } from './lifecycle/job-list.js';
import { JobTimeline } from './lifecycle/job-timeline.js';
import { Jobs } from './lifecycle/jobs.js';
import { ManualRequests } from './lifecycle/manual-requests.js';
import { Runs } from './lifecycle/runs.js';
import { processingRecords } from './personal-records.js';
import { ConfigSnapshots } from './settings/config-snapshots.js';
import { ExpiredLeases } from './worker/expired-leases.js';
import { JobGauge } from './worker/job-gauge.js';
import { JobNotifications } from './worker/job-notifications.js';
import { JobWorker } from './worker/job-worker.js';
import { workerSettings } from './worker/worker-settings.js';

const requests = [Jobs, ManualRequests, JobList, JobTimeline, ConfigSnapshots, ...processingRecords];

/** For the api and other libs: requests, reads and lists jobs, but runs no jobs. */
@Module({ providers: requests, exports: requests })
export class ProcessingModule {}

/** For the worker: runs jobs. Other modules register the processor and what belongs to it with `ProcessingBindings`. */
@Global()
@Module({
  imports: [ProcessingModule],
  providers: [
    ProcessingBindings,
    ExpiredLeases,
    JobGauge,
    { provide: Runs, inject: [Database], useFactory: (database: Database) => new Runs(database) },
  ],
  exports: [ProcessingBindings],
})
export class ProcessingWorkModule implements OnApplicationBootstrap, BeforeApplicationShutdown {
  private parts: ReadonlyArray<Pick<Discovery, 'start' | 'stop'>> = [];

  constructor(
    private readonly bindings: ProcessingBindings,
    private readonly jobs: Jobs,
    private readonly snapshots: ConfigSnapshots,
    private readonly database: Database,
    @Inject(CONFIG) private readonly config: Config,
    @Inject(TIME_SCALE) private readonly scale: TimeScale,
    @Inject(LOGGER) private readonly logger: Logger,
  ) {}

  onApplicationBootstrap(): void {
    this.parts = [this.worker(), ...this.discovery()];
    for (const part of this.parts) part.start();
  }

  async beforeApplicationShutdown(): Promise<void> {
    await Promise.all(this.parts.map((part) => part.stop()));
  }

  private worker(): JobWorker {
    return new JobWorker(
      new Runs(this.database, this.bindings.runListener.get()),
      this.snapshots,
      new JobNotifications(this.listeningUrl, this.logger),
      this.bindings.processor.required(),
      workerSettings(this.scale, this.config.jobs),
      this.logger,
    );
  }

  /** LISTEN belongs to a session, which a pooler shares. */
  private get listeningUrl(): string {
    const { url, directUrl } = this.config.database;
    return directUrl ?? url;
  }

  private discovery(): Discovery[] {
    const found = this.bindings.newActivities.get();
    return found ? [new Discovery(this.jobs, this.database, found, this.scale, this.logger)] : [];
  }
}
