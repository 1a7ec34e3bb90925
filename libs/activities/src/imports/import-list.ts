import { Injectable } from '@nestjs/common';
import { cursorAt, Database, keysetOf, prepared, type Statement } from '#platform';
import { type ImportJob, type ImportStatus, isUnfinished } from './import-job.js';
import { type ImportView } from './import-view.js';
import { Imports } from './imports.js';

interface ImportFilter {
  readonly status?: ImportStatus;
  readonly athleteId?: string;
  readonly cursor?: string;
  readonly limit: number;
}

type ListedImport = ImportView & { readonly athlete_id: string };

/** Lists imports of all athletes for operators, newest first. */
@Injectable()
export class ImportList {
  constructor(
    private readonly database: Database,
    private readonly imports: Imports,
  ) {}

  async page({ status, athleteId, cursor, limit }: ImportFilter): Promise<{
    readonly items: readonly ListedImport[];
    readonly next_cursor: string | null;
  }> {
    const after = cursor === undefined ? undefined : keysetOf(cursor);
    // One row more than the limit shows whether there is a next page.
    const values = [after?.place, after?.id, limit + 1, ...(athleteId === undefined ? [] : [athleteId])];
    const statement = statementFor(status, athleteId !== undefined);
    const { rows } = await this.database.query<ImportJob & { place: string }>(statement, values);
    const shown = rows.slice(0, limit);
    const last = shown.at(-1);
    return {
      items: await Promise.all(
        shown.map(async (job) => ({ athlete_id: job.athlete_id, ...(await this.imports.viewOf(job)) })),
      ),
      next_cursor: rows.length > limit && last ? cursorAt(last) : null,
    };
  }
}

// The status is a literal: with a parameter the planner could not use the partial indexes of unfinished, failed and cancelled imports.
export function statementFor(status: ImportStatus | undefined, isOfAthlete: boolean): Statement {
  return prepared(
    'list all imports',
    `
      select
        *,
        to_char(created_at at time zone 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.US"Z"') as place
      from import_jobs
      where (created_at, id) < (
        coalesce($1, 'infinity'::timestamptz), coalesce($2, 'ffffffff-ffff-ffff-ffff-ffffffffffff'::uuid)
      )
        ${isOfAthlete ? 'and athlete_id = $4' : ''}
        ${status === undefined ? '' : conditionOf(status)}
      order by created_at desc, id desc
      limit $3`,
  );
}

function conditionOf(status: ImportStatus): string {
  return `and status = '${status}' and ${isUnfinished(status) ? `status in ('queued', 'started', 'rate_limited')` : 'true'}`;
}
