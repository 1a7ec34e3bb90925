import { Injectable } from '@nestjs/common';
import { Connections } from '#connections';
import { Database, NotFound } from '#platform';
import { ActivityStore } from '../activity-store.js';
import { ImportFinished, NothingToImportFrom } from './import-errors.js';
import { ImportForecast } from './import-forecast.js';
import { type ImportJob, type ImportType, isUnfinished } from './import-job.js';
import { ImportJobs } from './import-jobs.js';
import { ImportTicks } from './import-ticks.js';
import { type ImportView, viewOf } from './import-view.js';

/** What an athlete can do about imports: begin, look, cancel. */
@Injectable()
export class Imports {
  constructor(
    private readonly jobs: ImportJobs,
    private readonly ticks: ImportTicks,
    private readonly forecast: ImportForecast,
    private readonly connections: Connections,
    private readonly store: ActivityStore,
    private readonly database: Database,
  ) {}

  async begin(athleteId: string, type: ImportType, since: Date | null): Promise<ImportView> {
    const connections = await this.connections.list(athleteId);
    const isConnected = connections.some(
      ({ provider, status }) => provider === 'strava' && status === 'active',
    );
    if (!isConnected) throw new NothingToImportFrom();
    // First, so that a death in between costs nothing: what is asked for again is tried again.
    await this.store.reopenSetAside(this.database, athleteId);
    const { job, isNew } = await this.jobs.createOrFind(athleteId, type, since);
    if (isNew) await this.ticks.next(job.id, Number(job.turn));
    return this.view(job);
  }

  async look(athleteId: string, id: string): Promise<ImportView> {
    return this.view(await this.find(athleteId, id));
  }

  async cancel(athleteId: string, id: string): Promise<ImportView> {
    const isCancelled = await this.jobs.cancel(athleteId, id);
    const job = await this.find(athleteId, id);
    if (!isCancelled && job.status !== 'cancelled') throw new ImportFinished(job.status);
    return this.view(job);
  }

  private async find(athleteId: string, id: string): Promise<ImportJob> {
    const job = await this.jobs.find(athleteId, id);
    if (!job) throw new NotFound('No such import');
    return job;
  }

  private async view(job: ImportJob): Promise<ImportView> {
    return viewOf(job, isUnfinished(job.status) ? await this.forecast.etaOf(job) : null, new Date());
  }
}
