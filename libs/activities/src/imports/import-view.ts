import { type ActivitySource, titleOf, type VendorId } from '#vendors';
import { type ImportJob } from './import-job.js';

/** An import as its athlete sees it. */
export interface ImportView {
  readonly id: string;
  readonly provider: VendorId;
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

type History = ActivitySource['history'];

export function viewOf(job: ImportJob, eta: Date | null, now: Date, history: History): ImportView {
  const { activities_imported, photos_imported } = job.sync_cursor;
  return {
    id: job.id,
    provider: job.provider,
    type: job.type,
    status: job.status,
    since: iso(job.since),
    activities_imported,
    activities_total: job.activities_total,
    photos_imported,
    retry_after: iso(job.retry_after),
    eta: iso(eta),
    message: messageOf(job, now) + limitOf(job, history),
    created_at: job.created_at.toISOString(),
    started_at: iso(job.started_at),
    finished_at: iso(job.finished_at),
  };
}

/** An import from a vendor without a history would look as if activities were missing. */
function limitOf({ provider }: ImportJob, history: History): string {
  return history === 'whole' ? '' : `. ${titleOf(provider)} gives no history from before the connection`;
}

export function messageOf(job: ImportJob, now: Date): string {
  const { phase, activities_imported, unreadable = 0 } = job.sync_cursor;
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
      return [
        `Completed: ${counted(activities_imported, 'activity')} imported`,
        ...(activities_imported < total ? [`${total - activities_imported} set aside`] : []),
        ...(unreadable > 0 ? [`${unreadable} could not be read`] : []),
      ].join(', ');
    case 'failed':
      return `Failed: ${job.error ?? 'unknown'}`;
    case 'cancelled':
      return `Cancelled: ${counted(activities_imported, 'activity')} imported`;
  }
}

/** `at 14:15 UTC`, with the date if it is not today. */
function momentOf(at: Date, now: Date): string {
  const [day, time] = at.toISOString().split('T');
  const clock = `at ${time?.slice(0, 5)} UTC`;
  return day === now.toISOString().split('T')[0] ? clock : `${clock} on ${day}`;
}

const counted = (count: number, noun: 'activity') => `${count} ${count === 1 ? noun : 'activities'}`;
const iso = (at: Date | null) => at?.toISOString() ?? null;
