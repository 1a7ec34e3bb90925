import { queryOptions } from '@tanstack/react-query';
import { answerOf, api } from './api.js';

// The server sends an overview only if it has changed. After this time without one, a request reads it.
const QUIET_FOR_MS = 60_000;

/**
 * Budgets, states of streams and backfills. Its event `overview` carries the whole body, so live.ts writes it here. Each event starts the
 * interval again, so that nothing is requested while events come.
 */
export const observabilityQuery = queryOptions({
  queryKey: ['observability'],
  queryFn: () => answerOf(api.GET('/admin/observability')),
  refetchInterval: QUIET_FOR_MS,
  meta: { changes: ['overview'] },
});
