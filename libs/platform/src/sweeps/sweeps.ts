import { type BeforeApplicationShutdown, Inject, Injectable } from '@nestjs/common';
import { SchedulerRegistry } from '@nestjs/schedule';
import { type TimeScale } from '../clock/clock.js';
import { type Logger } from '../logging/logger.js';
import { LOGGER, TIME_SCALE } from '../process/surroundings.module.js';

/**
 * Repeats background work at an interval. If a run takes longer than the interval, the next run is skipped. So runs never overlap in this
 * process, but another process may run the same sweep. A failed run is logged, and the next interval begins a new run.
 */
@Injectable()
export class Sweeps implements BeforeApplicationShutdown {
  private readonly running = new Map<string, Promise<unknown>>();

  constructor(
    private readonly registry: SchedulerRegistry,
    @Inject(TIME_SCALE) private readonly scale: TimeScale,
    @Inject(LOGGER) private readonly logger: Logger,
  ) {}

  /** Begins the first run at once. The interval is `realMs` divided by TIME_SCALE, but at least 250 ms. */
  every(name: string, realMs: number, runOnce: () => Promise<unknown>): void {
    const begin = () => this.begin(name, runOnce);
    this.registry.addInterval(name, setInterval(begin, this.scale.sweep(realMs)));
    begin();
  }

  /** Begins no new runs, and waits for the running ones. */
  async beforeApplicationShutdown(): Promise<void> {
    for (const name of this.registry.getIntervals()) this.registry.deleteInterval(name);
    await Promise.all(this.running.values());
  }

  private begin(name: string, runOnce: () => Promise<unknown>): void {
    if (this.running.has(name)) return;
    const run = runOnce()
      .catch((err: unknown) => this.logger.warn({ err, sweep: name }, 'sweep failed'))
      .finally(() => this.running.delete(name));
    this.running.set(name, run);
  }
}
