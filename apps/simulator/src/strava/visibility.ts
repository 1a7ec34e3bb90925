import { type Activity } from '../athletes/index.js';

export function isPrivate({ overrides }: Activity): boolean {
  return overrides?.private ?? overrides?.visibility === 'only_me';
}

export function mayReadActivities(scopes: Iterable<string>): boolean {
  const held = new Set(scopes);
  return held.has('activity:read') || held.has('activity:read_all');
}

/** "Only you" activities need `activity:read_all`; without it they do not exist for the app. */
export function isVisibleWith(scopes: readonly string[]): (activity: Activity) => boolean {
  return scopes.includes('activity:read_all') ? () => true : (activity) => !isPrivate(activity);
}
