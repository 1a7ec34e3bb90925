import { type QueryKey, useQuery, useQueryClient } from '@tanstack/react-query';
import { useEffect, useRef } from 'react';
import { type Schema } from './api.js';
import { observabilityQuery } from './observability.js';
import { readAgain } from './paged.js';

type Attention = Schema<'AttentionAnswer'>;
type Count = {
  [Name in keyof Attention]: Attention[Name] extends number | null ? Name : never;
}[keyof Attention];

/** For lists that no event tells about: they are read again this often while they are shown. */
export const NO_EVENT_POLL_MS = 15_000;

/**
 * How much waits for a person, kept fresh by the event `overview`. Each change of the number makes the queries below `queryKey` old, so a
 * page shows the progress of a bulk action without polling.
 */
export function useAttention(name: Count, queryKey: QueryKey): number | null | undefined {
  const queries = useQueryClient();
  const { data } = useQuery({ ...observabilityQuery, select: (state) => state.needs_attention[name] });
  const before = useRef(data);
  useEffect(() => {
    if (before.current !== undefined && before.current !== data)
      readAgain(queries, (query) => queryKey.every((part, index) => query.queryKey[index] === part));
    before.current = data;
  }, [queries, queryKey, data]);
  return data;
}
