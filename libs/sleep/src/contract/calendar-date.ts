const DAYS = [31, 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31];

/** `2025-02-28`, and that there is such a day: `Date.parse` takes the 30th for the 2nd of March. */
export function isCalendarDate(text: string): boolean {
  const [, year, month, day] = /^(\d{4})-(\d{2})-(\d{2})$/.exec(text) ?? [];
  const days = DAYS[Number(month) - 1];
  // Postgres has no year 0.
  if (days === undefined || Number(year) === 0 || Number(day) === 0) return false;
  return Number(day) <= (month === '02' && isLeap(Number(year)) ? 29 : days);
}

const isLeap = (year: number) => year % 4 === 0 && (year % 100 !== 0 || year % 400 === 0);
