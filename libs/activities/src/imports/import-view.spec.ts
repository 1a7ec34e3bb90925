import { describe, expect, it } from '@jest/globals';
import { beginning } from './import-cursor.js';
import { type ImportJob } from './import-job.js';
import { messageOf, viewOf } from './import-view.js';

const now = new Date('2026-11-18T14:03:20Z');

const job = (
  change: Partial<ImportJob> & { imported?: number; phase?: 'summaries' | 'details' | 'photos' },
): ImportJob => ({
  id: '8f14e45f-ceea-467f-a9b8-2f3c1d8f0a11',
  athlete_id: '8f14e45f-ceea-467f-a9b8-2f3c1d8f0a12',
  provider: 'strava',
  type: 'full',
  status: 'started',
  since: null,
  sync_cursor: { ...beginning, phase: change.phase ?? 'details', activities_imported: change.imported ?? 0 },
  activities_total: null,
  retry_after: null,
  error: null,
  fence: '1',
  created_at: now,
  started_at: null,
  finished_at: null,
  ...change,
});

describe('the message of an import', () => {
  it.each([
    [{ status: 'queued' }, 'Waiting to start'],
    [
      { status: 'queued', error: 'Strava does not answer', retry_after: new Date('2026-11-18T14:05:00Z') },
      'Strava does not answer, trying again at 14:05 UTC',
    ],
    [
      {
        status: 'queued',
        error: 'Rate-limit state is unavailable',
        retry_after: new Date('2026-11-18T14:00:15Z'),
      },
      'Rate-limit state is unavailable, trying again at 14:00 UTC',
    ],
    [{ status: 'started', phase: 'summaries' }, 'Listing activities'],
    [{ status: 'started', imported: 120, activities_total: 847 }, 'Importing: 120 of 847 activities'],
    [
      { status: 'started', phase: 'photos', imported: 1, activities_total: 1 },
      'Importing photos, 1 activity imported',
    ],
    [
      { status: 'rate_limited', retry_after: new Date('2026-11-18T14:15:00Z') },
      'Rate limited, resuming at 14:15 UTC',
    ],
    [
      { status: 'rate_limited', retry_after: new Date('2026-11-19T00:00:02Z') },
      'Rate limited, resuming at 00:00 UTC on 2026-11-19',
    ],
    [{ status: 'completed', imported: 847, activities_total: 847 }, 'Completed: 847 activities imported'],
    [
      { status: 'completed', imported: 846, activities_total: 847 },
      'Completed: 846 activities imported, 1 set aside',
    ],
    [{ status: 'failed', error: 'connect again' }, 'Failed: connect again'],
    [{ status: 'cancelled', imported: 3 }, 'Cancelled: 3 activities imported'],
  ] as const)('the message of an import %j is: %s', (change, message) => {
    expect(messageOf(job(change as Partial<ImportJob>), now)).toBe(message);
  });
});

it('the view of an import has the fields of the contract', () => {
  const eta = new Date('2026-11-18T16:00:00Z');
  expect(viewOf(job({ imported: 5, activities_total: 9 }), eta, now, 'whole')).toMatchObject({
    type: 'full',
    status: 'started',
    activities_imported: 5,
    activities_total: 9,
    photos_imported: 0,
    retry_after: null,
    eta: '2026-11-18T16:00:00.000Z',
  });
});

describe('the view of an import from a vendor without a history', () => {
  it('the message says that the vendor gives no history from before the connection', () => {
    const view = viewOf(
      job({ status: 'completed', activities_total: 2, imported: 2 }),
      null,
      now,
      'since connection',
    );
    expect(view).toMatchObject({
      provider: 'strava',
      message: 'Completed: 2 activities imported. Strava gives no history from before the connection',
    });
  });
});
