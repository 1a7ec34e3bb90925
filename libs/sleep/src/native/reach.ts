import { type SleepSource } from '#vendors';

const DAY_MS = 86_400_000;
// Local dates differ from UTC by a day, and a night may pass the end of the vendor's list between two calls.
const MARGIN_DAYS = 2;

/** The first local date that the vendor may list. An earlier night does not come any more. Empty for a vendor that shows all nights. */
export function listedSince({ listedDays }: Pick<SleepSource, 'listedDays'>, now: Date): string {
  return listedDays === undefined ? '' : dateAfter(now.getTime(), -listedDays);
}

/**
 * The first local date of which a 404 means that the night was deleted. The vendor does not show earlier nights, or not to this connection.
 * Empty, and so before all dates, for a vendor that shows all of them.
 */
export function reachOf(
  { listedDays }: Pick<SleepSource, 'listedDays'>,
  connectedAt: string,
  now: Date,
): string {
  if (listedDays === undefined) return '';
  const listed = dateAfter(now.getTime(), MARGIN_DAYS - listedDays);
  const connected = dateAfter(Date.parse(connectedAt.slice(0, 10)), MARGIN_DAYS);
  return listed > connected ? listed : connected;
}

function dateAfter(ms: number, days: number): string {
  return new Date(ms + days * DAY_MS).toISOString().slice(0, 10);
}
