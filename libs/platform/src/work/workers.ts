import { type BeforeApplicationShutdown, Global, Inject, Injectable, Module } from '@nestjs/common';
import { type TimeScale } from '../clock/clock.js';
import { HealthRegistry } from '../health/health-registry.js';
import { type Logger } from '../logging/logger.js';
import { LOGGER, TIME_SCALE } from '../process/surroundings.module.js';
import { type Outcome, type Work, Worker } from './worker.js';

/** The workers of this process. Readiness names each that looks for work, and a stopping process waits for the rows that they hold. */
@Injectable()
export class Workers implements BeforeApplicationShutdown {
  private readonly all: Array<Pick<Worker<unknown, Outcome>, 'stop'>> = [];

  constructor(
    private readonly health: HealthRegistry,
    @Inject(TIME_SCALE) private readonly scale: TimeScale,
    @Inject(LOGGER) private readonly logger: Logger,
  ) {}

  /** The worker of this work. The feature starts it once the application runs (`onApplicationBootstrap`). */
  of<Claim, Result extends Outcome>(work: Work<Claim, Result>): Worker<Claim, Result> {
    const worker = new Worker(work, this.scale, this.logger);
    // Work without a poll has no probe: after one failed claim it would count as unhealthy until the next message names a row.
    if (work.everyMs !== undefined) this.health.register(work.name, () => worker.assertAlive());
    this.all.push(worker);
    return worker;
  }

  async beforeApplicationShutdown(): Promise<void> {
    await Promise.all(this.all.map((worker) => worker.stop()));
  }
}

/** Provides the workers of a process. */
@Global()
@Module({ providers: [Workers], exports: [Workers] })
export class WorkModule {}
