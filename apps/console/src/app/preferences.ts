import { type Units } from '../format/units.js';
import { storeOf, useStore } from './store.js';

type Theme = 'system' | 'light' | 'dark';

interface Preferences {
  readonly theme: Theme;
  readonly units: Units;
}

const KEY = 'pacekeeper-preferences';
const DEFAULTS: Preferences = { theme: 'system', units: 'km' };

const store = storeOf<Preferences>(stored());
apply(store.get());

export function usePreferences(): Preferences {
  return useStore(store);
}

/** The units that distances and paces are shown in. */
export function useUnits(): Units {
  return usePreferences().units;
}

export function changePreferences(change: Partial<Preferences>): void {
  const next = { ...store.get(), ...change };
  store.set(next);
  apply(next);
  // A browser may forbid storage; the choice then lasts until the page is reloaded.
  try {
    localStorage.setItem(KEY, JSON.stringify(next));
  } catch (error) {
    console.warn('The preferences cannot be stored.', error);
  }
}

function stored(): Preferences {
  try {
    const found = JSON.parse(localStorage.getItem(KEY) ?? '{}') as Partial<Preferences>;
    return {
      theme: found.theme === 'light' || found.theme === 'dark' ? found.theme : DEFAULTS.theme,
      units: found.units === 'mi' ? 'mi' : DEFAULTS.units,
    };
  } catch {
    return DEFAULTS;
  }
}

/** tokens.css follows the system unless the page names a theme. */
function apply({ theme }: Preferences): void {
  if (theme === 'system') delete document.documentElement.dataset.theme;
  else document.documentElement.dataset.theme = theme;
}
