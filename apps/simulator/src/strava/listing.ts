import { type Activity } from '#training-world';
import { firstIndex } from './activity-library.js';

export interface ListingQuery {
  /** Epoch seconds; both bounds are exclusive. */
  readonly before?: number;
  readonly after?: number;
  readonly page: number;
  readonly perPage: number;
}

/**
 * One page, newest first. With `after` the page is oldest first. Strava cuts the page and then drops activities that the
 * token may not see. So any page may have fewer than `perPage` activities or none, even if more pages follow.
 */
export function listPage(
  timeline: readonly Activity[],
  isVisible: (activity: Activity) => boolean,
  { before = Infinity, after, page, perPage }: ListingQuery,
): Activity[] {
  const newest = firstIndex(timeline, (activity) => startSeconds(activity) < before);
  const oldest =
    after === undefined ? timeline.length : firstIndex(timeline, (one) => startSeconds(one) <= after);
  const skipped = (page - 1) * perPage;
  if (after === undefined) {
    const from = Math.min(newest + skipped, oldest);
    return timeline.slice(from, Math.min(from + perPage, oldest)).filter(isVisible);
  }
  const to = Math.max(oldest - skipped, newest);
  return timeline
    .slice(Math.max(to - perPage, newest), to)
    .filter(isVisible)
    .reverse();
}

function startSeconds({ startMs }: Activity): number {
  return Math.floor(startMs / 1000);
}
