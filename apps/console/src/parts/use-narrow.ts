import { useSyncExternalStore } from 'react';

// As in the media queries of the style sheets.
const narrow = window.matchMedia('(width < 640px)');

function subscribe(listener: () => void): () => void {
  narrow.addEventListener('change', listener);
  return () => narrow.removeEventListener('change', listener);
}

/** True on a screen as narrow as a phone's. */
export function useNarrow(): boolean {
  return useSyncExternalStore(subscribe, () => narrow.matches);
}
