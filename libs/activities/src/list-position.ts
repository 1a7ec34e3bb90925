import { type ActivityPage, type ActivitySource } from '#vendors';

/** The position in an athlete's list, newest first, at which the next page begins. */
export interface ListPosition {
  /** Unix seconds: activities that began then or later have been listed. Null at the beginning. */
  readonly before: number | null;
  /** The number of the page after `before`, from 1 on. It rises while pages are empty: an empty page gives no new `before`. */
  readonly page: number;
}

interface ListScope {
  readonly source: Pick<ActivitySource, 'history' | 'fullScope'>;
  /** The scopes that the athlete granted. */
  readonly scopes: readonly string[];
  /** Activities that began earlier are not listed. */
  readonly since: Date | null;
  readonly askedAt: Date;
}

export const PAGE = 200;
// After this many empty pages in a row, which are 1,000 hidden activities, the list counts as ended.
const MOST_SILENT_PAGES = 5;
// No athlete records 200 activities in a shorter time, so a short range needs fewer calls.
const FASTEST_PAGE_MS = 20 * 86_400_000;

/**
 * Returns the position of the next page. Returns undefined if the list has ended or the page reaches back beyond `since`. A list
 * `since connection` has one page.
 *
 * The vendor cuts a page before it drops hidden activities from the page. So a page of fewer than 200 activities is never the end.
 * An empty page is the end if no activity is hidden from us. If activities may be hidden, up to four more pages are requested.
 * A page whose activities are all later than the position counts as empty, since its vendor ignores `before` and may list the same page for
 * ever.
 *
 * Not guaranteed: activities behind 1,000 hidden activities in a row are not found. If more than a page of activities begin in the
 * same second, the rest of them is not found.
 */
export function nextPosition(
  at: ListPosition,
  { length, oldestStart }: Pick<ActivityPage, 'length' | 'oldestStart'>,
  { source, scopes, since, askedAt }: ListScope,
): ListPosition | undefined {
  if (source.history === 'since connection') return undefined;
  if (oldestStart && since && oldestStart < since) return undefined;
  const before = oldestStart && beforeOfNextPage(oldestStart, at.before);
  if (before !== undefined) return { before, page: 1 };
  const seesAll = source.fullScope === undefined || scopes.includes(source.fullScope);
  if (length === 0 && seesAll) return undefined;
  const fromMs = at.before === null ? askedAt.getTime() : at.before * 1_000;
  const rangeMs = since ? fromMs - since.getTime() : Infinity;
  const most = Math.min(MOST_SILENT_PAGES, Math.ceil(rangeMs / FASTEST_PAGE_MS));
  return at.page < most ? { ...at, page: at.page + 1 } : undefined;
}

/**
 * Several activities may begin in a page's oldest second. The next page lists that second again, so that none of them is missed. But each
 * position is before the last one: if the page had only activities of that one second, the second is not listed again. Undefined if the whole
 * page is later than the position.
 */
function beforeOfNextPage(oldestStart: Date, before: number | null): number | undefined {
  const oldest = Math.floor(oldestStart.getTime() / 1_000);
  if (before === null) return oldest + 1;
  return oldest > before ? undefined : Math.min(oldest + 1, before - 1);
}
