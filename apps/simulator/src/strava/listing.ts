import { type Activity } from '../athletes/index.js';
import { firstIndex } from './activity-library.js';

export interface ListingQuery {
  /** Epoch seconds; both bounds are exclusive. */
  readonly before?: number;
  readonly after?: number;
  readonly page: number;
  readonly perPage: number;
}

/** Newest first; with `after` oldest first. A page beyond the end is empty, which is how a client learns of the end. */
export function listPage(
  timeline: readonly Activity[],
  isVisible: (activity: Activity) => boolean,
  { before = Infinity, after, page, perPage }: ListingQuery,
): Activity[] {
  const newest = firstIndex(timeline, (activity) => startSeconds(activity) < before);
  const oldest =
    after === undefined ? timeline.length : firstIndex(timeline, (one) => startSeconds(one) <= after);
  const [from, step] = after === undefined ? [newest, 1] : [oldest - 1, -1];
  const listed: Activity[] = [];
  let toSkip = (page - 1) * perPage;
  for (let at = from; at >= newest && at < oldest && listed.length < perPage; at += step) {
    const activity = timeline[at]!;
    if (isVisible(activity) && --toSkip < 0) listed.push(activity);
  }
  return listed;
}

function startSeconds({ startMs }: Activity): number {
  return Math.floor(startMs / 1000);
}
