import { type Config } from '../config/config.js';

const DAY_MS = 86_400_000;
const CORE_DAYS = 7;
export const CORE_KEPT_MS = CORE_DAYS * DAY_MS;

/**
 * The longest time between an event and its handling. The event may wait in the stream, then as a dead letter, and then, after a replay, in
 * the stream again. One more day is for messages that a worker is handling.
 *
 * Erasures are kept for this time, so that a late event never brings deleted data back.
 */
export function longestWaitMs({ dlqRetentionDays }: Pick<Config['nats'], 'dlqRetentionDays'>): number {
  return (CORE_DAYS + dlqRetentionDays + CORE_DAYS + 1) * DAY_MS;
}

/**
 * How old an event may be when the stream stores it. While it then waits in the stream, the erasure that refuses it is still kept. The age is
 * computed without the clock of any process.
 */
export function oldestStoredMs(nats: Pick<Config['nats'], 'dlqRetentionDays'>): number {
  return longestWaitMs(nats) - CORE_KEPT_MS;
}
