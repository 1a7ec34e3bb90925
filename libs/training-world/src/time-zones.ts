import { twoDigits } from './iso-time.js';
import { floor, min } from './maths.js';

const HOUR_MS = 3_600_000;
const DAY_MS = 24 * HOUR_MS;
const YEAR_MS = 365.25 * DAY_MS;
const PROBES_PER_YEAR = 12;

interface Span {
  readonly untilMs: number;
  readonly offsetMinutes: number;
}

interface ZoneYear {
  readonly spans: readonly Span[];
  /** The offset outside summer time. */
  readonly standardMinutes: number;
  readonly label: string;
}

/** Offset from UTC in minutes. `Intl` takes microseconds a call, so it is asked only once for each year of a zone. */
export function offsetMinutesAt(timeZone: string, ms: number): number {
  const { spans, standardMinutes } = zoneYear(timeZone, ms);
  for (const span of spans) if (ms < span.untilMs) return span.offsetMinutes;
  return standardMinutes;
}

/** The moment at which clocks in the zone show a local time. `localMs` is the local time as if it were UTC. */
export function momentOfLocal(timeZone: string, localMs: number): number {
  const guess = localMs - offsetMinutesAt(timeZone, localMs) * 60_000;
  return localMs - offsetMinutesAt(timeZone, guess) * 60_000;
}

/** Strava's form, with the offset outside summer time: `(GMT+01:00) Europe/Berlin`. */
export function stravaTimeZone(timeZone: string, ms: number): string {
  return zoneYear(timeZone, ms).label;
}

/** Writes an offset as `+05:30`. */
export function formatOffset(minutes: number): string {
  const size = Math.abs(minutes);
  return `${minutes < 0 ? '-' : '+'}${twoDigits(floor(size / 60))}:${twoDigits(size % 60)}`;
}

const known = new Map<string, Map<number, ZoneYear>>();

function zoneYear(timeZone: string, ms: number): ZoneYear {
  const year = floor(ms / YEAR_MS);
  let years = known.get(timeZone);
  if (!years) known.set(timeZone, (years = new Map<number, ZoneYear>()));
  let found = years.get(year);
  if (!found) years.set(year, (found = lookUp(timeZone, year)));
  return found;
}

function lookUp(timeZone: string, year: number): ZoneYear {
  const spans = probe(timeZone, year * YEAR_MS);
  const standardMinutes = min(...spans.map((span) => span.offsetMinutes));
  return { spans, standardMinutes, label: `(GMT${formatOffset(standardMinutes)}) ${timeZone}` };
}

function probe(timeZone: string, startMs: number): Span[] {
  const spans: Span[] = [];
  let fromMs = startMs;
  let offsetMinutes = askIntl(timeZone, fromMs);
  for (let i = 1; i <= PROBES_PER_YEAR; i++) {
    const toMs = startMs + (i * YEAR_MS) / PROBES_PER_YEAR;
    const next = askIntl(timeZone, toMs);
    if (next !== offsetMinutes) spans.push({ untilMs: changeBetween(timeZone, fromMs, toMs), offsetMinutes });
    offsetMinutes = next;
    fromMs = toMs;
  }
  spans.push({ untilMs: fromMs, offsetMinutes });
  return spans;
}

function changeBetween(timeZone: string, fromMs: number, toMs: number): number {
  const before = askIntl(timeZone, fromMs);
  let low = fromMs;
  let high = toMs;
  while (high - low > 1) {
    const middle = floor((low + high) / 2);
    if (askIntl(timeZone, middle) === before) low = middle;
    else high = middle;
  }
  return high;
}

const formats = new Map<string, Intl.DateTimeFormat>();

function askIntl(timeZone: string, ms: number): number {
  let format = formats.get(timeZone);
  if (!format) {
    format = new Intl.DateTimeFormat('en-US', { timeZone, timeZoneName: 'longOffset' });
    formats.set(timeZone, format);
  }
  const match = /GMT([+-])(\d\d):(\d\d)/.exec(format.format(ms));
  if (!match) return 0;
  const minutes = Number(match[2]) * 60 + Number(match[3]);
  return match[1] === '-' ? -minutes : minutes;
}
