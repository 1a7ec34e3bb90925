import { formatOffset, momentOfLocal } from '#training-world';

const MINUTE_MS = 60_000;
const DAY_MS = 86_400_000;

/** Local time with the offset, such as `2026-11-17T22:58:30.000+02:00`. */
export function isoWithOffset(atMs: number, offsetMinutes: number): string {
  return shifted(atMs, offsetMinutes).slice(0, -1) + formatOffset(offsetMinutes);
}

export function localDay(atMs: number, offsetMinutes: number): string {
  return shifted(atMs, offsetMinutes).slice(0, 10);
}

export function localHour(atMs: number, offsetMinutes: number): number {
  return new Date(atMs + offsetMinutes * MINUTE_MS).getUTCHours();
}

export function nextDay(day: string): string {
  return new Date(Date.parse(`${day}T00:00:00Z`) + DAY_MS).toISOString().slice(0, 10);
}

/** The moment at which a clock in `timeZone` shows `day` and the time `minutes` after midnight. */
export function momentOf(day: string, minutes: number, timeZone: string): number {
  return momentOfLocal(timeZone, Date.parse(`${day}T00:00:00Z`) + minutes * MINUTE_MS);
}

function shifted(atMs: number, offsetMinutes: number): string {
  return new Date(atMs + offsetMinutes * MINUTE_MS).toISOString();
}
