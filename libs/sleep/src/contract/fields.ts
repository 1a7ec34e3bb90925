import { z } from 'zod';
import { canonicalSubject } from '#platform';
import { isCalendarDate } from './calendar-date.js';

// The fields of the events, with the messages of their validation errors.

const LONGEST_NAME = 255;
const MINUTES_OF_A_DAY = 1_440;
const LARGEST_RAW = 64 * 1024;
// JSON.stringify and consumers' parsers recurse once per level.
const DEEPEST_RAW = 32;
// Control characters and lone surrogates: Postgres cannot store NUL, and UTF-8 replaces a lone surrogate.
const UNPRINTABLE = /[\p{Cc}\p{Cs}]/u;

const typed =
  (expected: string) =>
  ({ input }: { readonly input?: unknown }) => {
    if (input === undefined) return 'Required';
    // JSON.parse reads 1e400 as Infinity.
    return input === Infinity || input === -Infinity
      ? 'Number must be finite'
      : `Expected ${expected}, received ${typeOf(input)}`;
  };

export const name = z
  .string({ error: typed('string') })
  .min(1, 'String must contain at least 1 character(s)')
  .max(LONGEST_NAME, `String must contain at most ${LONGEST_NAME} character(s)`)
  .refine((text) => !UNPRINTABLE.test(text), 'Invalid characters');

/** The subject of the athlete's tokens, in its canonical form. `name` refuses an empty subject. */
export const userId = name
  .refine((text) => text === '' || text.trim() !== '', 'String must not be blank')
  .transform(canonicalSubject);

export const date = z.string({ error: typed('string') }).refine(isCalendarDate, 'Invalid date format');

export const minutes = z
  .number({ error: typed('number') })
  .min(0, 'Number must be greater than or equal to 0')
  .max(MINUTES_OF_A_DAY, `Number must be less than or equal to ${MINUTES_OF_A_DAY}`)
  .refine(Number.isInteger, 'Expected integer, received float');

export const moment = z
  .string({ error: typed('string') })
  .refine(isMoment, 'Invalid timestamp, expected ISO 8601 with a time zone');

export const raw = z
  .custom<Readonly<Record<string, unknown>>>(isPlainObject, { error: typed('object') })
  .superRefine((value, context) => {
    const bytes = mostBytes(value, DEEPEST_RAW);
    if (bytes === Infinity) context.addIssue(`Nested deeper than ${DEEPEST_RAW} levels`);
    else if (bytes > LARGEST_RAW && Buffer.byteLength(JSON.stringify(value)) > LARGEST_RAW)
      context.addIssue(`Larger than ${LARGEST_RAW} bytes`);
  });

export { typed };

// Times outside of these bounds are mistakes. Near year 0 or 9999 a time zone could also lead to a year without four digits.
const EARLIEST_MS = Date.UTC(1900, 0);
const LATEST_MS = Date.UTC(2200, 0);
const MOMENT = /^(\d{4}-\d{2}-\d{2})T\d{2}:\d{2}(?::\d{2}(?:\.\d{1,9})?)?(?:Z|[+-]\d{2}:\d{2})$/;

function isMoment(text: string): boolean {
  const [, day] = MOMENT.exec(text) ?? [];
  if (day === undefined || !isCalendarDate(day)) return false;
  const ms = Date.parse(text);
  return ms >= EARLIEST_MS && ms < LATEST_MS;
}

function isPlainObject(value: unknown): boolean {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

// Upper bounds in JSON: an escaped character; a number or keyword; quotes, colon and comma around a value.
const CHARACTER_BYTES = 6;
const SCALAR_BYTES = 25;
const AROUND_BYTES = 4;

/** An upper bound of the bytes of `value` as JSON, cheaper than stringifying; Infinity if `value` is nested deeper than `levels`. */
function mostBytes(value: unknown, levels: number): number {
  if (typeof value === 'string') return value.length * CHARACTER_BYTES + AROUND_BYTES;
  if (typeof value !== 'object' || value === null) return SCALAR_BYTES;
  if (levels === 0) return Infinity;
  let bytes = AROUND_BYTES;
  for (const key in value)
    bytes +=
      key.length * CHARACTER_BYTES +
      AROUND_BYTES +
      mostBytes((value as Record<string, unknown>)[key], levels - 1);
  return bytes;
}

function typeOf(value: unknown): string {
  if (value === null) return 'null';
  return Array.isArray(value) ? 'array' : typeof value;
}
