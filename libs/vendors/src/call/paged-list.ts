import { z } from 'zod';
import { type CallOutcome, ok } from './call-outcome.js';
import { type CallContext, type VendorCalls, type VendorRequest } from './vendor-calls.js';

/** How a vendor's list is divided into pages. */
interface Paging {
  /** The field of the answer that holds the items. */
  readonly items: string;
  /** The query parameter that names the page. */
  readonly token: string;
  /** The field of the answer that names the next page. Absent or null there: this page is the last. */
  readonly next: string;
}

// A list with more pages is treated as endless.
const MAX_PAGES = 100;

/**
 * Returns the items of all pages, unparsed. A 404 is an outage and not an empty list: if it were read as one, all our items of this list
 * would be deleted.
 */
export async function pagedList(
  calls: VendorCalls,
  context: CallContext,
  request: VendorRequest,
  { items, token, next }: Paging,
): Promise<CallOutcome<readonly unknown[]>> {
  const Page = z
    .looseObject({ [items]: z.array(z.unknown()), [next]: z.string().nullish() })
    .transform((page) => ({
      items: page[items] as unknown[],
      next: page[next] as string | null | undefined,
    }));
  const all: unknown[] = [];
  let { path } = request;
  for (let pages = 0; pages < MAX_PAGES; pages += 1) {
    const page = await calls.call(context, { ...request, path }, (json) => Page.parse(json));
    if (page.kind === 'gone') return calls.answers.outage('it answered a list with 404');
    if (page.kind !== 'ok') return page;
    all.push(...page.value.items);
    if (!page.value.next) return ok(all);
    path = withQuery(request.path, token, page.value.next);
  }
  return calls.answers.outage(`its list has more than ${MAX_PAGES} pages`);
}

function withQuery(path: string, name: string, value: string): string {
  const parameter = `${name}=${encodeURIComponent(value)}`;
  return `${path}${path.includes('?') ? '&' : '?'}${parameter}`;
}
