import { type ImportJob } from './import-job.js';

/** An import as its athlete sees it. */
export interface ImportView {
  readonly id: string;
  readonly type: string;
  readonly status: string;
  readonly since: string | null;
  readonly activities_imported: number;
  readonly activities_total: number | null;
  readonly photos_imported: number;
  readonly retry_after: string | null;
  readonly eta: string | null;
  readonly message: string;
  readonly created_at: string;
  readonly started_at: string | null;
  readonly finished_at: string | null;
}

export function viewOf(job: ImportJob, eta: Date | null, now: Date): ImportView {
  const { activities_imported, photos_imported } = job.sync_cursor;
  return {
    id: job.id,
    type: job.type,
    status: job.status,
    since: iso(job.since),
    activities_imported,
    activities_total: job.activities_total,
    photos_imported,
    retry_after: iso(job.retry_after),
    eta: iso(eta),
    message: messageOf(job, now),
    created_at: job.created_at.toISOString(),
    started_at: iso(job.started_at),
    finished_at: iso(job.finished_at),
  };
}

export function messageOf(job: ImportJob, now: Date): string {
  const { phase, activities_imported } = job.sync_cursor;
  const total = job.activities_total ?? 0;
  switch (job.status) {
    case 'queued':
      if (job.retry_after) return `${job.error ?? 'Waiting'}, trying again ${momentOf(job.retry_after, now)}`;
      return 'Waiting to start';
    case 'started':
      if (phase === 'summaries') return 'Listing activities';
      if (phase === 'photos') return `Importing photos, ${counted(activities_imported, 'activity')} imported`;
      return `Importing: ${activities_imported} of ${counted(total, 'activity')}`;
    case 'rate_limited':
      return `Rate limited, resuming ${momentOf(job.retry_after ?? now, now)}`;
    case 'completed':
      if (activities_imported < total)
        return `Completed: ${counted(activities_imported, 'activity')} imported, ${total - activities_imported} set aside`;
      return `Completed: ${counted(activities_imported, 'activity')} imported`;
    case 'failed':
      return `Failed: ${job.error ?? 'unknown'}`;
    case 'cancelled':
      return `Cancelled: ${counted(activities_imported, 'activity')} imported`;
  }
}

/** `at 14:15 UTC`, with the day where it is another. */
function momentOf(at: Date, now: Date): string {
  const [day, time] = at.toISOString().split('T');
  const clock = `at ${time?.slice(0, 5)} UTC`;
  return day === now.toISOString().split('T')[0] ? clock : `${clock} on ${day}`;
}

const counted = (count: number, noun: 'activity') => `${count} ${count === 1 ? noun : 'activities'}`;
const iso = (at: Date | null) => at?.toISOString() ?? null;
