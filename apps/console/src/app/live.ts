import { type Query, type QueryClient, type QueryMeta } from '@tanstack/react-query';
import { type Schema } from './api.js';
import { type Change, CHANGE_TYPES, isConcerned } from './changes.js';
import { observabilityQuery } from './observability.js';
import { readAgain } from './paged.js';
import { reachability, unavailableServer } from './reachability.js';
import { type Session, sessionQuery } from './session.js';
import { storeOf } from './store.js';

/** `down` means that pages are read again every 15 s instead. */
export const liveState = storeOf<'connecting' | 'open' | 'down'>('connecting');

const POLL_MS = 15_000;
// The browser opens a broken stream again after a second. A restart of one of several replicas is over by then and shows no banner.
const PROBE_AFTER_MS = 1500;
const PROBE_DEADLINE_MS = 1500;
// A backfill makes some ten changes a second. A page is read again at most once in this time.
const COLLECT_MS = 2000;
// `changes` names none, so that all that is shown is read again. A long backfill sends it twice a second.
const COLLECT_MANY_MS = 4000;

/**
 * Keeps the pages fresh by one event stream per tab. An event names the queries that are old, by the `changes` of their `meta`.
 * After a break it marks all of them old, because events may have been missed. A break that lasts makes it ask whether the server still
 * answers, so that the banner comes within 3 s. Returns a function that ends it.
 */
export function startLive(queries: QueryClient, role: Session['role']): () => void {
  let source = open();
  let collected: Change[] = [];
  let hasMany = false;
  let collecting: ReturnType<typeof setTimeout> | undefined;
  let probing: ReturnType<typeof setTimeout> | undefined;
  const poll = setInterval(() => {
    if (liveState.get() === 'open') return;
    readAgain(queries, isLive);
    // The browser does not reconnect after an answer that is no event stream.
    if (source.readyState === EventSource.CLOSED) source = open();
  }, POLL_MS);

  function open(): EventSource {
    const opened = new EventSource(role === 'admin' ? '/admin/events' : '/v1/events');
    opened.onopen = () => {
      const isFirst = liveState.get() === 'connecting';
      liveState.set('open');
      reachability.set(true);
      clearTimeout(probing);
      probing = undefined;
      if (!isFirst) readAgain(queries, isLive);
    };
    // Each failed attempt to open the stream again is an error, too.
    opened.onerror = () => {
      liveState.set('down');
      // The server refused the stream: the session may have ended, and a page that reads nothing would not learn of it.
      if (opened.readyState === EventSource.CLOSED)
        void queries.invalidateQueries({ queryKey: sessionQuery.queryKey });
      probing ??= setTimeout(() => {
        probing = undefined;
        if (reachability.get()) void probe();
      }, PROBE_AFTER_MS);
    };
    const types = role === 'admin' ? ['change'] : CHANGE_TYPES;
    for (const type of types) opened.addEventListener(type, ({ data }) => collect(parsed<Change>(data)));
    opened.addEventListener('changes', () => {
      hasMany = true;
      collecting ??= setTimeout(readCollected, COLLECT_MANY_MS);
    });
    opened.addEventListener('overview', ({ data }) => {
      queries.setQueryData(observabilityQuery.queryKey, parsed<Schema<'ObservabilityAnswer'>>(data));
      if (unavailableServer.get() === undefined) return;
      unavailableServer.set(undefined);
      readAgain(queries, isLive);
    });
    opened.addEventListener('unavailable', ({ data }) =>
      unavailableServer.set(parsed<Schema<'UnavailableServerAnswer'>>(data).server),
    );
    return opened;
  }

  function collect(change: Change): void {
    collected.push(change);
    collecting ??= setTimeout(readCollected, COLLECT_MS);
  }

  function readCollected(): void {
    const changes = collected;
    const isAny = hasMany;
    collected = [];
    hasMany = false;
    collecting = undefined;
    readAgain(
      queries,
      ({ meta = {} }) => (isAny && followsChanges(meta)) || changes.some((one) => isConcerned(meta, one)),
    );
  }

  return () => {
    clearInterval(poll);
    clearTimeout(collecting);
    clearTimeout(probing);
    source.close();
    liveState.set('connecting');
    unavailableServer.set(undefined);
  };
}

/** The event stream may break alone, such as in a proxy. So a request tells whether the server is there. */
async function probe(): Promise<void> {
  const signal = AbortSignal.timeout(PROBE_DEADLINE_MS);
  const isThere = await fetch('/health/live', { signal, cache: 'no-store' }).then(
    () => true,
    () => false,
  );
  if (liveState.get() === 'down') reachability.set(isThere);
}

// The figures of the overview come with their own event.
const followsChanges = ({ changes = [] }: QueryMeta) => changes.some((pattern) => pattern !== 'overview');
const isLive = ({ meta }: Query) => meta?.changes !== undefined;
const parsed = <Data>(text: unknown) => JSON.parse(text as string) as Data;
