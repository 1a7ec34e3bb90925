/** What WHOOP publishes, and the numbers chosen where it is silent. Seconds are the vendor's, before TIME_SCALE. */

export const SCOPES = [
  'offline',
  'read:sleep',
  'read:recovery',
  'read:cycles',
  'read:workout',
  'read:profile',
  'read:body_measurement',
] as const;

/** Without it the token answer has no refresh token. */
export const OFFLINE_SCOPE = 'offline';

export const RATE_LIMITS = [
  { name: 'minute', seconds: 60, limit: 100 },
  { name: 'day', seconds: 86_400, limit: 10_000 },
] as const;

export const LIST_DEFAULT = 10;
export const LIST_MAXIMUM = 25;

/** A night of the past was scored this long after waking. */
export const SCORED_AFTER_WAKING_MS = 26 * 60_000;

/** The past of somebody invented on the authorize page. */
export const NEWCOMERS_NIGHTS = 30;
