import { Inject, Injectable } from '@nestjs/common';
import { Changes, type ChangeType, type Sql } from '#platform';
import { Sources } from '#vendors';
import { type ImportJob, type ImportStatus } from './import-job.js';
import { viewOf } from './import-view.js';

/** The type of the change; undefined for a status that is not announced. There is no type for a cancelled import: `data` has its status. */
const TYPES: Readonly<Partial<Record<ImportStatus, ChangeType>>> = {
  completed: 'import.completed',
  failed: 'import.failed',
  cancelled: 'import.failed',
  rate_limited: 'import.rate_limited',
};

/** Tells apps that an import has ended or waits for the vendor's next window. */
@Injectable()
export class ImportChanges {
  constructor(
    private readonly changes: Changes,
    @Inject(Sources) private readonly sources: Pick<Sources, 'activities'>,
  ) {}

  /** Announces an import in the transaction that has changed it. `eta`: the expected end of an import that waits. */
  async announce(sql: Sql, job: ImportJob, eta: Date | null = null): Promise<void> {
    const { id: subjectId, athlete_id: athleteId, status, provider } = job;
    const type = TYPES[status];
    if (!type) return;
    const data = viewOf(job, eta, new Date(), this.sources.activities(provider).history);
    await this.changes.record(sql, { type, athleteId, subjectId, data });
  }
}
