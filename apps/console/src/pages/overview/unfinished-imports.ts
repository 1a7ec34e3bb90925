import { queryOptions, useQueries } from '@tanstack/react-query';
import { answerOf, api, type Schema } from '../../app/api.js';

const UNFINISHED = ['started', 'rate_limited', 'queued'] as const;
const READ_EVERY_MS = 15_000;
// A connection begins an import with an event. Only an import that somebody asks for begins without one.
const READ_NONE_EVERY_MS = 60_000;

const importsQuery = (status: (typeof UNFINISHED)[number]) =>
  queryOptions({
    queryKey: ['imports', 'unfinished', status],
    queryFn: () => answerOf(api.GET('/admin/imports', { params: { query: { status, limit: 50 } } })),
    meta: { changes: ['import.*', 'connection.active', 'athlete.deleted'] },
    refetchInterval: ({ state }) => (state.data?.items.length ? READ_EVERY_MS : READ_NONE_EVERY_MS),
  });

/** Imports change with each activity. To read them at each change would cost the api more than their figures are worth here. */
export function useUnfinishedImports(): ReadonlyArray<Schema<'ListedImportAnswer'>> {
  return useQueries({
    queries: UNFINISHED.map(importsQuery),
    combine: (answers) => answers.flatMap(({ data }) => data?.items ?? []),
  });
}
