import { type QueryClient } from '@tanstack/react-query';
import { liveState, startLive } from './live.js';
import { type Session } from './session.js';

// Over HTTP/1.1 a browser opens six connections to a server, for all of its tabs. Each event stream holds one: without this limit, the seventh
// tab would show nothing.
const HIDDEN_FOR_MS = 20_000;

/** Keeps the pages live while the tab is seen. A tab that comes back reads again what it shows. Returns a function that ends it. */
export function liveWhileSeen(queries: QueryClient, role: Session['role']): () => void {
  let stop: (() => void) | undefined = startLive(queries, role);
  let pausing: ReturnType<typeof setTimeout> | undefined;

  function follow(): void {
    clearTimeout(pausing);
    if (document.hidden) pausing = setTimeout(pause, HIDDEN_FOR_MS);
    else stop ??= startLive(queries, role);
  }

  function pause(): void {
    stop?.();
    stop = undefined;
    // As after a break: the next stream makes the pages read again.
    liveState.set('down');
  }

  document.addEventListener('visibilitychange', follow);
  // A tab may be opened in the background.
  follow();
  return () => {
    document.removeEventListener('visibilitychange', follow);
    clearTimeout(pausing);
    stop?.();
  };
}
