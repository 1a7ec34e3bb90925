import {
  type InfiniteData,
  type Query,
  type QueryClient,
  type QueryKey,
  type QueryMeta,
  type UseInfiniteQueryResult,
  useInfiniteQuery,
  useQueryClient,
} from '@tanstack/react-query';
import { useMemo } from 'react';

interface PageOf<Item> {
  readonly items: readonly Item[];
  readonly next_cursor?: string | null;
}

interface PagedOptions<Item> {
  readonly queryKey: QueryKey;
  /** Reads one page; without a cursor, the first. */
  readonly read: (cursor: string | undefined) => Promise<PageOf<Item>>;
  readonly meta?: QueryMeta;
  /** For lists that no event tells about. Not below 15,000. A long list is not read again. */
  readonly pollMs?: number;
}

/** Tells a Table whether more pages can be loaded, and how. */
export interface Paging {
  readonly hasMore: boolean;
  readonly isLoading: boolean;
  readonly load: () => unknown;
  /** True if something changed that the list does not show, because it is too long to be read again by itself. */
  readonly isOld: boolean;
  readonly restart: () => unknown;
}

interface Paged<Item> {
  readonly query: UseInfiniteQueryResult<InfiniteData<PageOf<Item>>>;
  readonly rows: readonly Item[];
  readonly paging: Paging;
}

/** A list that the API answers page by page. The table loads the next page when its end comes into view. */
export function usePaged<Item>({ queryKey, read, meta, pollMs }: PagedOptions<Item>): Paged<Item> {
  const queries = useQueryClient();
  const query = useInfiniteQuery({
    queryKey,
    queryFn: ({ pageParam }) => read(pageParam),
    initialPageParam: undefined as string | undefined,
    getNextPageParam: ({ next_cursor }) => next_cursor ?? undefined,
    meta,
    refetchInterval: ({ state }) => (pollMs === undefined || isLongList(state.data) ? false : pollMs),
  });
  const rows = useMemo(() => query.data?.pages.flatMap(({ items }) => items) ?? [], [query.data]);
  const paging = {
    hasMore: query.hasNextPage,
    isLoading: query.isFetchingNextPage,
    load: () => query.fetchNextPage({ cancelRefetch: false }),
    isOld: query.isStale && queries.getQueryState(queryKey)?.isInvalidated === true && !query.isFetching,
    restart: () => queries.resetQueries({ queryKey, exact: true }),
  };
  return { query, rows, paging };
}

// To read a list again means one request per page.
const MOST_PAGES_READ_AGAIN = 3;

/** Reads the queries that are shown and match again. A long list is only marked as old; the person reads it again. */
export function readAgain(queries: QueryClient, predicate: (query: Query) => boolean): void {
  const isLong = (query: Query) => isLongList(query.state.data);
  void queries.invalidateQueries({ predicate: (query) => predicate(query) && !isLong(query) });
  void queries.invalidateQueries({
    predicate: (query) => predicate(query) && isLong(query),
    refetchType: 'none',
  });
}

function isLongList(data: unknown): boolean {
  return isPages(data) && data.pages.length > MOST_PAGES_READ_AGAIN;
}

function isPages(data: unknown): data is InfiniteData<unknown> {
  return typeof data === 'object' && data !== null && 'pages' in data && Array.isArray(data.pages);
}
