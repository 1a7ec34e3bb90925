const SECOND_MS = 1_000;
const MINUTE_MS = 60 * SECOND_MS;
const HOUR_MS = 60 * MINUTE_MS;

const RETRIES_MS = [
  5 * SECOND_MS,
  5 * MINUTE_MS,
  30 * MINUTE_MS,
  2 * HOUR_MS,
  5 * HOUR_MS,
  10 * HOUR_MS,
  14 * HOUR_MS,
  20 * HOUR_MS,
  24 * HOUR_MS,
];
// Deliveries that failed together do not return together.
const JITTER = 0.1;

/**
 * The pause after an attempt that failed, in real time; undefined after the last attempt. `random` is from 0 to 1.
 *
 * | failed attempt  | 1   | 2     | 3      | 4       | 5       | 6       | 7       | 8       | 9       | 10       |
 * | --------------- | --- | ----- | ------ | ------- | ------- | ------- | ------- | ------- | ------- | -------- |
 * | next attempt in | 5 s | 5 min | 30 min | 2 h     | 5 h     | 10 h    | 14 h    | 20 h    | 24 h    | given up |
 * | since the first | 5 s | 5 min | 35 min | 2 h 35  | 7 h 35  | 17 h 35 | 31 h 35 | 51 h 35 | 75 h 35 |          |
 *
 * Each pause is up to a tenth longer, by chance.
 */
export function retryMs(failedAttempts: number, random: number): number | undefined {
  const pauseMs = RETRIES_MS[failedAttempts - 1];
  return pauseMs && pauseMs * (1 + JITTER * random);
}
