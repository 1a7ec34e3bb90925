import { MutationCache, QueryCache, QueryClient } from '@tanstack/react-query';
import { type Problem } from './problem.js';
import { type ChangePattern } from './changes.js';
import { sessionQuery } from './session.js';

declare module '@tanstack/react-query' {
  interface Register {
    defaultError: Problem;
    queryMeta: {
      /** The changes that make this query's data old; live.ts then reads it again. A query without them is read once. */
      readonly changes?: readonly ChangePattern[];
      /** If set, only changes of this athlete count. */
      readonly athleteId?: string;
    };
  }
}

const FIVE_MINUTES = 5 * 60_000;
const RETRIES = 2;

export const queries: QueryClient = new QueryClient({
  queryCache: new QueryCache({ onError: noticeEndedSession }),
  mutationCache: new MutationCache({ onError: noticeEndedSession }),
  defaultOptions: {
    queries: {
      staleTime: FIVE_MINUTES,
      // The browser's word that it is offline is often wrong; a request tells.
      networkMode: 'always',
      refetchOnWindowFocus: false,
      retry: (failures, problem) => problem.isPassing && failures < RETRIES,
    },
    mutations: { networkMode: 'always' },
  },
});

/** Without a session the shell shows the sign-in page. */
function noticeEndedSession(problem: Problem): void {
  if (problem.status === 401) queries.setQueryData(sessionQuery.queryKey, null);
}
