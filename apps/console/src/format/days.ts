/** Days of the calendar as text, `2026-03-03`, and months, `2026-03`. Arithmetic is in UTC, so that no change of the clock moves a day. */
const DAY_MS = 86_400_000;
// A person who types a year into a field of a date writes 0002 first.
const DAY = /^(?:19|20)\d{2}-\d{2}-\d{2}$/;
const MONTH = /^(?:19|20)\d{2}-\d{2}$/;

export function dayOf(value: unknown): string | undefined {
  return isText(value, DAY) && written(new Date(value)) === value ? value : undefined;
}

export function monthOf(value: unknown): string | undefined {
  return isText(value, MONTH) && dayOf(`${value}-01`) ? value : undefined;
}

export function plusDays(day: string, days: number): string {
  return written(new Date(new Date(day).getTime() + days * DAY_MS));
}

export function plusMonths(month: string, months: number): string {
  const first = new Date(`${month}-01`);
  first.setUTCMonth(first.getUTCMonth() + months);
  return written(first).slice(0, 7);
}

/** All days from `first` to `last`. */
export function daysBetween(first: string, last: string): string[] {
  const count = Math.round((new Date(last).getTime() - new Date(first).getTime()) / DAY_MS) + 1;
  return Array.from({ length: Math.max(count, 0) }, (_, index) => plusDays(first, index));
}

export function daysOfMonth(month: string): string[] {
  return daysBetween(`${month}-01`, plusDays(`${plusMonths(month, 1)}-01`, -1));
}

/** 0 for a Monday. */
export function weekdayOf(day: string): number {
  return (new Date(day).getUTCDay() + 6) % 7;
}

/** The moment at which a day begins in the person's own time zone. */
export function beginningOf(day: string): string {
  return new Date(`${day}T00:00:00`).toISOString();
}

/** `Wednesday, 18 November 2026`. */
export function dayInWords(day: string): string {
  return inWords(day, { weekday: 'long', day: 'numeric', month: 'long', year: 'numeric' });
}

/** `November 2026`. */
export function monthInWords(month: string): string {
  return inWords(`${month}-01`, { month: 'long', year: 'numeric' });
}

/** `18 Nov`. */
export function shortDay(day: string): string {
  return inWords(day, { day: 'numeric', month: 'short' });
}

function inWords(day: string, options: Intl.DateTimeFormatOptions): string {
  return new Intl.DateTimeFormat('en-GB', { ...options, timeZone: 'UTC' }).format(new Date(day));
}

function isText(value: unknown, pattern: RegExp): value is string {
  return typeof value === 'string' && pattern.test(value);
}

function written(date: Date): string {
  return Number.isNaN(date.getTime()) ? '' : date.toISOString().slice(0, 10);
}
