import { type CallOutcome, ok } from '../call/call-outcome.js';
import { pagedList } from '../call/paged-list.js';
import { type CallContext, type VendorCalls } from '../call/vendor-calls.js';
import {
  type SleepList,
  type SleepObject,
  type SleepRecord,
  type SleepSource,
} from '../capabilities/sleep.js';
import { readNights } from '../capabilities/reading.js';
import { type OuraDailySleep, readableDailySleep, toOuraDailySleep, toOuraSleep } from './sleep-document.js';

type DocumentKind = 'sleep' | 'daily_sleep';

const PAGING = { items: 'data', token: 'next_token', next: 'next_token' };
const DAY_MS = 86_400_000;

/**
 * Oura's sleeps. The score of a sleep is in the document of its day, and is always fetched last: a new sleep with an old score would have
 * the same `updatedAt` as the same sleep with its new score.
 */
export class OuraSleeps implements SleepSource {
  constructor(private readonly calls: VendorCalls) {}

  recordsOf(context: CallContext, { about, id }: SleepObject): Promise<CallOutcome<readonly SleepRecord[]>> {
    return about === 'score' ? this.scoredBy(context, id) : this.sleep(context, id);
  }

  async list(context: CallContext, from: string, to: string): Promise<CallOutcome<SleepList>> {
    const sleeps = await this.ofDays(context, 'sleep', from, to);
    if (sleeps.kind !== 'ok') return sleeps;
    const scores = await this.scoresOf(context, from, to);
    if (scores.kind !== 'ok') return scores;
    return ok(readNights(sleeps.value, (sleep) => toOuraSleep(sleep, scores.value.get(dayOf(sleep)))));
  }

  private async sleep(context: CallContext, id: string): Promise<CallOutcome<readonly SleepRecord[]>> {
    const sleep = await this.calls.call(context, requestOf('sleep', id), (json) => ({
      json,
      day: toOuraSleep(json).date,
    }));
    if (sleep.kind !== 'ok') return sleep;
    const { json, day } = sleep.value;
    const scores = await this.scoresOf(context, day, day);
    return scores.kind === 'ok' ? ok([toOuraSleep(json, scores.value.get(day))]) : scores;
  }

  /** The sleeps of the score's day; none if the score is deleted. The score is fetched again after the sleeps. */
  private async scoredBy(context: CallContext, id: string): Promise<CallOutcome<readonly SleepRecord[]>> {
    const daily = await this.calls.call(context, requestOf('daily_sleep', id), toOuraDailySleep);
    if (daily.kind === 'gone') return ok([]);
    if (daily.kind !== 'ok') return daily;
    const { day } = daily.value;
    const sleeps = await this.list(context, day, day);
    if (sleeps.kind !== 'ok') return sleeps;
    const [problem] = sleeps.value.unreadable;
    return problem === undefined ? ok(sleeps.value.records) : this.calls.answers.malformed(problem);
  }

  private async scoresOf(
    context: CallContext,
    from: string,
    to: string,
  ): Promise<CallOutcome<ReadonlyMap<string, OuraDailySleep>>> {
    const documents = await this.ofDays(context, 'daily_sleep', from, to);
    if (documents.kind !== 'ok') return documents;
    const days = documents.value.map(readableDailySleep).filter((daily) => daily !== undefined);
    return ok(new Map(days.map((daily) => [daily.day, daily])));
  }

  /** Oura treats the end date as inclusive for some documents only, so one more day is requested and then dropped. */
  private async ofDays(
    context: CallContext,
    kind: DocumentKind,
    from: string,
    to: string,
  ): Promise<CallOutcome<readonly unknown[]>> {
    const dayAfter = new Date(Date.parse(to) + DAY_MS).toISOString().slice(0, 10);
    const path = `${pathOf(kind)}?start_date=${from}&end_date=${dayAfter}`;
    const all = await pagedList(this.calls, context, { endpoint: kind, path }, PAGING);
    if (all.kind !== 'ok') return all;
    return ok(all.value.filter((document) => dayOf(document) >= from && dayOf(document) <= to));
  }
}

const pathOf = (kind: DocumentKind) => `/v2/usercollection/${kind}`;

function requestOf(kind: DocumentKind, id: string) {
  return { endpoint: kind, path: `${pathOf(kind)}/${encodeURIComponent(id)}` };
}

function dayOf(document: unknown): string {
  const day = (document as { day?: unknown } | null)?.day;
  return typeof day === 'string' ? day : '';
}
