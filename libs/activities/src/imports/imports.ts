import { Inject, Injectable } from '@nestjs/common';
import { Connections } from '#connections';
import { cursorAt, Database, keysetOf, NotFound, TIME_SCALE, type TimeScale } from '#platform';
import { Sources, type VendorId, vendorsWith } from '#vendors';
import { ImportChanges } from './import-changes.js';
import { ImportFinished, NothingToImportFrom, TooManyImports } from './import-errors.js';
import { ImportForecast } from './import-forecast.js';
import { type ImportJob, type ImportType, isUnfinished } from './import-job.js';
import { ImportJobs } from './import-jobs.js';
import { ImportTicks } from './import-ticks.js';
import { type ImportView, viewOf } from './import-view.js';

const MINUTE_MS = 60_000;
const HOUR_MS = 60 * MINUTE_MS;
const DAY_MS = 24 * HOUR_MS;
// An app may request an import whenever it is opened, and each import uses calls of a window that all athletes share.
const COOLDOWN_MS: Readonly<Record<ImportType, number>> = { full: DAY_MS, incremental: 5 * MINUTE_MS };

// An app that requests an import after each cooldown begins twelve. The rest is for cancelled imports and for imports that look further back.
// Those have no cooldown, each costs at least one call, and a script could begin hundreds a minute.
export const IMPORTS_AN_HOUR = 20;
// An import that is cancelled after its listing, or looks further back than the last one, lists from the newest activity again. This is two pages
// for each of the twenty imports. Only imports with longer lists reach this limit first.
const PAGES_AGAIN_AN_HOUR = 40;

interface ImportPage {
  readonly items: readonly ImportView[];
  readonly next_cursor: string | null;
}

/** Begins, reads, lists and cancels the imports of an athlete. */
@Injectable()
export class Imports {
  constructor(
    private readonly jobs: ImportJobs,
    private readonly ticks: ImportTicks,
    private readonly forecast: ImportForecast,
    private readonly changes: ImportChanges,
    private readonly connections: Connections,
    private readonly sources: Sources,
    private readonly database: Database,
    @Inject(TIME_SCALE) private readonly scale: TimeScale,
  ) {}

  /**
   * Returns the unfinished import of that vendor and type. If there is none, returns an import that was completed within the cooldown (full: a
   * day, incremental: five minutes). Otherwise creates an import. Without `asked`, the vendor is the first of the registry with activities and
   * an active connection. Throws NothingToImportFrom without an active connection to such a vendor. Throws TooManyImports if the imports of
   * the hour from that vendor were 20, or have listed 40 pages besides the longest listing.
   */
  async begin(
    athleteId: string,
    type: ImportType,
    since: Date | null,
    asked?: VendorId,
  ): Promise<ImportView> {
    const provider = await this.connectedTo(athleteId, asked);
    const isListedWhole = this.sources.activities(provider).history === 'since connection';
    const cooldownMs = this.scale.wait(COOLDOWN_MS[type]);
    const { job, isNew, mayReopen } = await this.database.transaction(async (sql) => {
      const options = { cooldownMs, isListedWhole, sql };
      const found = await this.jobs.createOrFind({ athleteId, provider }, type, since, options);
      if (!found.isNew) return { ...found, mayReopen: false };
      // The count includes the new row. A refusal rolls the transaction back, so a refused import leaves no row.
      const share = {
        imports: IMPORTS_AN_HOUR,
        pagesAgain: PAGES_AGAIN_AN_HOUR,
        withinMs: this.scale.wait(HOUR_MS),
      };
      const waitMs = await this.jobs.waitMs({ athleteId, provider }, share, sql);
      if (waitMs !== undefined) throw new TooManyImports(Math.max(1, Math.ceil(waitMs / 1_000)));
      const mayReopen = await this.jobs.mayReopen(sql, found.job, this.scale.wait(DAY_MS));
      return { ...found, mayReopen };
    });
    if (mayReopen) await this.jobs.reopenSetAside(job);
    if (isNew) await this.ticks.next(job.id, job.fence);
    return this.viewOf(job);
  }

  /** Newest first. */
  async list(athleteId: string, cursor: string | undefined, limit: number): Promise<ImportPage> {
    const after = cursor === undefined ? undefined : keysetOf(cursor);
    // One row more than the limit shows whether there is a next page.
    const found = await this.jobs.list(athleteId, after, limit + 1);
    const shown = found.slice(0, limit);
    const last = shown.at(-1);
    return {
      items: await Promise.all(shown.map((job) => this.viewOf(job))),
      next_cursor: found.length > limit && last ? cursorAt(last) : null,
    };
  }

  /** By athlete: the import that is not finished, or else the newest one. */
  async latest(athleteIds: readonly string[]): Promise<ReadonlyMap<string, ImportView>> {
    const found = await this.jobs.latest(athleteIds);
    return new Map(
      await Promise.all(found.map(async (job) => [job.athlete_id, await this.viewOf(job)] as const)),
    );
  }

  async read(athleteId: string, id: string): Promise<ImportView> {
    return this.viewOf(await this.find(athleteId, id));
  }

  /** Throws ImportFinished if the import has completed or failed. */
  async cancel(athleteId: string, id: string): Promise<ImportView> {
    const cancelled = await this.database.transaction(async (sql) => {
      const job = await this.jobs.cancel(athleteId, id, sql);
      if (job) await this.changes.announce(sql, job);
      return job;
    });
    const job = cancelled ?? (await this.find(athleteId, id));
    if (job.status !== 'cancelled') throw new ImportFinished(job.status);
    return this.viewOf(job);
  }

  private async connectedTo(athleteId: string, asked: VendorId | undefined): Promise<VendorId> {
    const offered = vendorsWith('activities');
    const possible = asked === undefined ? offered : offered.filter((id) => id === asked);
    const connections = await this.connections.list(athleteId);
    const active = connections.filter(({ status }) => status === 'active').map(({ provider }) => provider);
    const provider = possible.find((id) => active.includes(id));
    if (!provider) throw new NothingToImportFrom(asked === undefined ? offered : [asked]);
    return provider;
  }

  private async find(athleteId: string, id: string): Promise<ImportJob> {
    const job = await this.jobs.find(athleteId, id);
    if (!job) throw new NotFound('No such import');
    return job;
  }

  /** The import as its athlete sees it, with the forecast of its end. */
  async viewOf(job: ImportJob): Promise<ImportView> {
    const eta = isUnfinished(job.status) ? await this.forecast.etaOf(job) : null;
    return viewOf(job, eta, new Date(), this.sources.activities(job.provider).history);
  }
}
