import { OuraProblem, OuraValidationProblem } from './oura-problem.js';
import { isDate } from './validation.js';

export interface DateRange {
  readonly from: string;
  readonly to: string;
}

const DAY_MS = 86_400_000;

/** Both days belong to the range. Without an end it is today, without a start the day before the end. */
export function readDateRange(query: Readonly<Record<string, string | undefined>>, nowMs: number): DateRange {
  const { start_date: start, end_date: end } = query;
  const problems = Object.entries({ start_date: start, end_date: end }).flatMap(([name, value]) => {
    const problem = value === undefined ? undefined : isDate(value);
    return problem ? [{ loc: ['query', name], ...problem }] : [];
  });
  if (problems.length > 0) throw new OuraValidationProblem(problems);

  const to = end ?? dayText(nowMs);
  const from = start ?? dayText(Date.parse(`${to}T00:00:00Z`) - DAY_MS);
  if (from > to) throw new OuraProblem(400, 'Start date is greater than end date');
  return { from, to };
}

export function isWithin({ from, to }: DateRange, day: string): boolean {
  return from <= day && day <= to;
}

function dayText(atMs: number): string {
  return new Date(atMs).toISOString().slice(0, 10);
}
