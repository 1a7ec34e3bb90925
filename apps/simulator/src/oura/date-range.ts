import { OuraProblem, OuraValidationProblem } from './oura-problem.js';
import { type Check, problemsOf } from './validation.js';

interface DateRange {
  readonly from: string;
  readonly to: string;
}

const DAY_MS = 86_400_000;

/** The range includes the start day and the end day. The default end is today. The default start is the day before the end. */
export function readDateRange(query: Readonly<Record<string, string | undefined>>, nowMs: number): DateRange {
  const given = Object.entries({ start_date: query.start_date, end_date: query.end_date });
  const problems = given.flatMap(([name, value]) =>
    value === undefined ? [] : problemsOf(['query', name], isDay, value),
  );
  if (problems.length > 0) throw new OuraValidationProblem(problems);

  const [start, end] = given.map(([, value]) => (value === undefined ? undefined : dayOf(value)));
  const to = end ?? dayText(nowMs);
  const from = start ?? dayText(Date.parse(`${to}T00:00:00Z`) - DAY_MS);
  if (from > to) throw new OuraProblem(400, 'Start date is greater than end date');
  return { from, to };
}

export function isWithin({ from, to }: DateRange, day: string): boolean {
  return from <= day && day <= to;
}

const isDay: Check = (value) => {
  if (typeof value === 'string' && dayOf(value) !== undefined) return undefined;
  const error = 'invalid character in year';
  const msg = `Input should be a valid date or datetime, ${error}`;
  return { type: 'date_from_datetime_parsing', msg, ctx: { error } };
};

/** The day of a date, of a date-time in its own offset, or of epoch seconds. Pydantic accepts these three forms. */
function dayOf(text: string): string | undefined {
  if (/^\d{1,10}$/.test(text)) return dayText(Number(text) * 1000);
  const [, day = '', time] = /^(\d{4}-\d\d-\d\d)([T ].+)?$/.exec(text) ?? [];
  const at = Date.parse(`${day}T00:00:00Z`);
  if (Number.isNaN(at) || dayText(at) !== day) return undefined;
  return time === undefined || isTimeOfDay(time) ? day : undefined;
}

function isTimeOfDay(text: string): boolean {
  return /^[T ]([01]\d|2[0-3]):[0-5]\d(:[0-5]\d(\.\d{1,9})?)?(Z|[+ -]\d\d:?\d\d)?$/i.test(text);
}

function dayText(atMs: number): string {
  return new Date(atMs).toISOString().slice(0, 10);
}
