import { useSyncExternalStore } from 'react';
import { storeOf } from '../app/store.js';
import { moment, relative, utc } from '../format/time.js';

// One clock for all times on the page. A rate-limit window in simulated time is over in seconds.
const TICK_MS = 5000;
const clock = storeOf(new Date());
let watchers = 0;
let timer: ReturnType<typeof setInterval> | undefined;

/** The time now, renewed every 5 s. */
export function useNow(): Date {
  return useSyncExternalStore(followClock, clock.get);
}

function followClock(listener: () => void): () => void {
  const leave = clock.subscribe(listener);
  if (watchers++ === 0) {
    // A jump in a table replaces all its rows, so all leave and all come. Without this condition, each jump would render them twice.
    if (Date.now() - clock.get().getTime() >= TICK_MS) clock.set(new Date());
    timer = setInterval(() => clock.set(new Date()), TICK_MS);
  }
  return () => {
    leave();
    if (--watchers === 0) clearInterval(timer);
  };
}

interface TimeProps {
  /** As the API writes it; a dash if there is none. */
  readonly at: string | null | undefined;
  /** `moment`: `14:15`. `relative`: `in 4 min` or `4 min ago`. `due`, for something that is to happen: `in 4 min` or `due`. */
  readonly as?: 'moment' | 'relative' | 'due';
}

function inWords(date: Date, now: Date, as: TimeProps['as']): string {
  if (as === 'moment') return moment(date, now);
  return as === 'due' && date <= now ? 'due' : relative(date, now);
}

/** A moment in the person's own time zone; the pointer over it shows UTC. */
export function Time({ at, as = 'moment' }: TimeProps) {
  const now = useNow();
  if (!at) return <>–</>;
  const date = new Date(at);
  return (
    <time dateTime={at} title={utc(date)}>
      {inWords(date, now, as)}
    </time>
  );
}
