import { type BeforeApplicationShutdown, Inject, Injectable } from '@nestjs/common';
import { SchedulerRegistry } from '@nestjs/schedule';
import { type TimeScale } from '../clock/time-scale.js';
import { type Logger } from '../logging/logger.js';
import { LOGGER, TIME_SCALE } from '../process/surroundings.module.js';

/** What is done again and again in the background. Each run waits for the one before; a failed one is told and repeated. */
@Injectable()
export class Sweeps implements BeforeApplicationShutdown {
  private readonly running = new Map<string, Promise<unknown>>();

  constructor(
    private readonly registry: SchedulerRegistry,
    @Inject(TIME_SCALE) private readonly scale: TimeScale,
    @Inject(LOGGER) private readonly logger: Logger,
  ) {}

  /** The first run is now. `realMs` is divided by TIME_SCALE. */
  every(name: string, realMs: number, runOnce: () => Promise<unknown>): void {
    const begin = () => this.begin(name, runOnce);
    this.registry.addInterval(name, setInterval(begin, this.scale.sweep(realMs)));
    begin();
  }

  /** Runs in hand are finished, no new ones begun. */
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
