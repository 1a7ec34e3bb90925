import { useNavigate, useSearch } from '@tanstack/react-router';
import { useCallback } from 'react';
import { type Search } from './search.js';

/** The page's search parameters, and a function that changes some of them. An item that is opened is a step of the browser's history. */
export function useSearchState(): [Search, (change: Search) => void] {
  const search: Search = useSearch({ strict: false });
  const navigate = useNavigate();
  const change = useCallback(
    (changed: Search) =>
      void navigate({
        to: '.',
        search: (before: Search) => ({ ...before, ...changed }),
        resetScroll: false,
      }),
    [navigate],
  );
  return [search, change];
}
