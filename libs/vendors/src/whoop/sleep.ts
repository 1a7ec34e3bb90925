import { type CallOutcome, ok } from '../call/call-outcome.js';
import { pagedList } from '../call/paged-list.js';
import { type CallContext, type VendorCalls } from '../call/vendor-calls.js';
import { readNights } from '../capabilities/reading.js';
import {
  type SleepList,
  type SleepObject,
  type SleepRecord,
  type SleepSource,
} from '../capabilities/sleep.js';
import { toWhoopSleep } from './sleep-document.js';

const PATH = '/v2/activity/sleep';
const PAGING = { items: 'records', token: 'nextToken', next: 'next_token' };
const MAX_PAGE_SIZE = 25;
const HOUR_MS = 3_600_000;
// Local time is up to 14 h ahead of UTC and 12 h behind. BEFORE_MS has one more day. So a sleep of the first date begins after `start`, and is
// listed even if WHOOP leaves out sleeps that are under way at `start`.
const BEFORE_MS = 38 * HOUR_MS;
const AFTER_MS = 36 * HOUR_MS;

/** WHOOP's sleeps. Their scores come with them, so no event is about a score. */
export class WhoopSleeps implements SleepSource {
  constructor(private readonly calls: VendorCalls) {}

  async recordsOf(context: CallContext, { id }: SleepObject): Promise<CallOutcome<readonly SleepRecord[]>> {
    const request = { endpoint: 'sleep', path: `${PATH}/${encodeURIComponent(id)}` };
    return this.calls.call(context, request, (json) => [toWhoopSleep(json)]);
  }

  /**
   * WHOOP lists the sleeps that end after `start` and begin before `end`, so also one that is under way at either. It compares instants, and
   * a local date has a different range of instants in each time zone. So sleeps of a day or two before and after are returned as well.
   */
  async list(context: CallContext, from: string, to: string): Promise<CallOutcome<SleepList>> {
    const query = new URLSearchParams({
      limit: `${MAX_PAGE_SIZE}`,
      start: new Date(Date.parse(from) - BEFORE_MS).toISOString(),
      end: new Date(Date.parse(to) + AFTER_MS).toISOString(),
    });
    const request = { endpoint: 'sleep', path: `${PATH}?${query.toString()}` };
    const all = await pagedList(this.calls, context, request, PAGING);
    return all.kind === 'ok' ? ok(readNights(all.value, toWhoopSleep)) : all;
  }
}
