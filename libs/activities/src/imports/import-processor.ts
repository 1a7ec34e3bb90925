import { Process, Processor } from '@nestjs/bull';
import { type Job } from 'bull';
import { ImportRunner } from './import-runner.js';
import { IMPORT_QUEUE, type ImportTick } from './import-ticks.js';

/**
 * One turn at a time in each worker. A process that dies then repeats one vendor call, not several; more workers, up to
 * the vendor's slots, are more lanes.
 */
@Processor(IMPORT_QUEUE)
export class ImportProcessor {
  constructor(private readonly runner: ImportRunner) {}

  @Process({ concurrency: 1 })
  work({ data }: Job<ImportTick>): Promise<void> {
    return this.runner.runTurn(data);
  }
}
