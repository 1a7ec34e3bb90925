import { openOffset, sealOffset } from '../wearables/page-token.js';
import { LIST_DEFAULT, LIST_MAXIMUM } from './whoop-facts.js';
import { WhoopProblem } from './whoop-problem.js';
import { type WhoopSleep } from './whoop-sleep.js';

export type ListQuery = Readonly<Record<string, string | undefined>>;

/** Asked with `nextToken`, answered with `next_token`, which the last page lacks. */
export function pageOf(
  sleeps: readonly WhoopSleep[],
  query: ListQuery,
  document: (sleep: WhoopSleep) => unknown,
) {
  const limit = readLimit(query.limit);
  const begin = query.nextToken ? openOffset(query.nextToken) : 0;
  if (begin === undefined) throw new WhoopProblem(400, 'nextToken is not valid');

  const inTime = within(sleeps, readMoment('start', query.start), readMoment('end', query.end));
  const records = inTime.slice(begin, begin + limit).map(document);
  const next = begin + limit;
  return next < inTime.length ? { records, next_token: sealOffset(next) } : { records };
}

/** `start` belongs to the range, `end` does not. */
function within(sleeps: readonly WhoopSleep[], startMs = -Infinity, endMs = Infinity): WhoopSleep[] {
  return sleeps.filter(({ night }) => night.startMs >= startMs && night.startMs < endMs);
}

function readLimit(text: string | undefined): number {
  if (text === undefined) return LIST_DEFAULT;
  const limit = Number(text);
  if (!Number.isInteger(limit) || limit < 1 || limit > LIST_MAXIMUM) {
    throw new WhoopProblem(400, `limit must be from 1 to ${LIST_MAXIMUM}`);
  }
  return limit;
}

function readMoment(name: string, text: string | undefined): number | undefined {
  if (text === undefined) return undefined;
  const atMs = /^\d{4}-\d\d-\d\dT/.test(text) ? Date.parse(text) : NaN;
  if (Number.isNaN(atMs)) throw new WhoopProblem(400, `${name} must be an ISO 8601 date-time`);
  return atMs;
}
