export const ATTEMPT_MS = 5_000;
export const TOTAL_MS = 8_000;

/** A lease on work that calls Strava must not end before such a call does. */
export const LONGEST_STRAVA_CALL_MS = TOTAL_MS;
