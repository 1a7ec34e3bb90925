const DAYS = [31, 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31];

/** True for `2025-02-28`, false for a day that does not exist: `Date.parse` reads 2025-02-30 as the 2nd of March. */
export function isCalendarDate(text: string): boolean {
  const [, year, month, day] = /^(\d{4})-(\d{2})-(\d{2})$/.exec(text) ?? [];
  const days = DAYS[Number(month) - 1];
  // Postgres has no year 0.
  if (days === undefined || Number(year) === 0 || Number(day) === 0) return false;
  return Number(day) <= (month === '02' && isLeap(Number(year)) ? 29 : days);
}

const HOUR_MS = 3_600_000;
// UTC+14, where a day begins first, plus one day for a client whose clock or time zone is slightly wrong.
const AHEAD_MS = (14 + 24) * HOUR_MS;

/** The latest date that a night may have: tomorrow at UTC+14. */
export function latestNight(nowMs: number): string {
  return new Date(nowMs + AHEAD_MS).toISOString().slice(0, 10);
}

const isLeap = (year: number) => year % 4 === 0 && (year % 100 !== 0 || year % 400 === 0);
