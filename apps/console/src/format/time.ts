const SECOND = 1000;
const MINUTE = 60 * SECOND;
const HOUR = 60 * MINUTE;
const DAY = 24 * HOUR;
const UNITS = [
  ['d', DAY],
  ['h', HOUR],
  ['min', MINUTE],
  ['s', SECOND],
] as const;

/** How long something took: 3723 s → `1:02:03`, 754 s → `12:34`. */
export function duration(seconds: number | null | undefined): string {
  if (seconds === null || seconds === undefined) return '–';
  const whole = Math.round(seconds);
  const parts = [Math.floor(whole / 3600), Math.floor(whole / 60) % 60, whole % 60];
  const shown = parts[0] === 0 ? parts.slice(1) : parts;
  return shown.map((part, index) => (index === 0 ? String(part) : String(part).padStart(2, '0'))).join(':');
}

/** How long in words, with at most two units: `3 h 20 min`, `2 d 4 h`, `45 s`. */
export function spell(milliseconds: number): string {
  let rest = Math.abs(milliseconds);
  const first = UNITS.findIndex(([, size]) => rest >= size);
  if (first === -1) return '0 s';
  const parts = UNITS.slice(first, first + 2).map(([name, size]) => {
    const amount = Math.floor(rest / size);
    rest %= size;
    return amount > 0 ? `${amount} ${name}` : '';
  });
  return parts.filter(Boolean).join(' ');
}

/** `in 4 min`, `3 h ago`, `now`: one unit, because it changes while it is looked at. */
export function relative(at: Date, now: Date): string {
  const distance = at.getTime() - now.getTime();
  const [name, size] = UNITS.find(([, unit]) => Math.abs(distance) >= unit) ?? ['s', SECOND];
  const amount = Math.floor(Math.abs(distance) / size);
  if (name === 's' && amount < 5) return 'now';
  return distance > 0 ? `in ${amount} ${name}` : `${amount} ${name} ago`;
}

/** A moment as a person names it now: `14:15` today, `Thursday 09:30` within six days, `3 Mar 09:30`, `3 Mar 2025 09:30`. */
export function moment(at: Date, now: Date, timeZone?: string): string {
  const time = clock(at, false, timeZone);
  const date = dateIn(at, timeZone);
  if (date === dateIn(now, timeZone)) return time;
  if (Math.abs(at.getTime() - now.getTime()) < 6 * DAY)
    return `${written(at, { weekday: 'long' }, timeZone)} ${time}`;
  const isSameYear = date.slice(0, 4) === dateIn(now, timeZone).slice(0, 4);
  return `${written(at, { day: 'numeric', month: 'short', ...(isSameYear ? {} : { year: 'numeric' }) }, timeZone)} ${time}`;
}

/** `14:15`, or `14:15:30` where a minute is too coarse. */
export function clock(at: Date, hasSeconds = false, timeZone?: string): string {
  const seconds = hasSeconds ? ({ second: '2-digit' } as const) : {};
  return written(at, { hour: '2-digit', minute: '2-digit', ...seconds, hourCycle: 'h23' }, timeZone);
}

/** `2026-03-03 09:30:00 UTC`. */
export function utc(at: Date): string {
  return `${at.toISOString().slice(0, 19).replace('T', ' ')} UTC`;
}

function written(at: Date, options: Intl.DateTimeFormatOptions, timeZone?: string): string {
  return formatOf('en-GB', { ...options, timeZone }).format(at);
}

function dateIn(at: Date, timeZone?: string): string {
  return formatOf('sv-SE', { timeZone }).format(at);
}

// A format takes longer to make than to use, and a table shows hundreds of times.
const formats = new Map<string, Intl.DateTimeFormat>();

function formatOf(locale: string, options: Intl.DateTimeFormatOptions): Intl.DateTimeFormat {
  const key = `${locale} ${JSON.stringify(options)}`;
  const known = formats.get(key) ?? new Intl.DateTimeFormat(locale, options);
  formats.set(key, known);
  return known;
}
