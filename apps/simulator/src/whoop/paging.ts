import { openOffset, sealOffset } from '../wearables/page-token.js';
import { LIST_DEFAULT, LIST_MAXIMUM } from './whoop-facts.js';
import { WhoopProblem } from './whoop-problem.js';

interface Span {
  readonly startMs: number;
  readonly endMs: number;
}

export type ListQuery = Readonly<Record<string, string | undefined>>;

/** A request has `nextToken`; an answer has `next_token`. The last page has no `next_token`. */
export function pageOf<Item>(
  items: readonly Item[],
  query: ListQuery,
  spanOf: (item: Item) => Span,
  document: (item: Item) => unknown,
) {
  const limit = readLimit(query.limit);
  const begin = query.nextToken ? openOffset(query.nextToken) : 0;
  if (begin === undefined) throw new WhoopProblem(400, 'nextToken is not valid');

  const [startMs, endMs] = [readMoment('start', query.start), readMoment('end', query.end)];
  const inTime = items.filter((item) => isWithin(spanOf(item), startMs, endMs));
  const records = inTime.slice(begin, begin + limit).map(document);
  const next = begin + limit;
  return next < inTime.length ? { records, next_token: sealOffset(next) } : { records };
}

/** True if the record ends after `start` and begins before `end`. So a night in progress at `start` or `end` is included. */
function isWithin(span: Span, startMs = -Infinity, endMs = Infinity): boolean {
  return span.endMs > startMs && span.startMs < endMs;
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
