import { type Asker, type AthleteCalls } from '#connections';
import {
  type OuraDailySleep,
  type OuraSleep,
  readableDailySleep,
  toOuraDailySleep,
  toOuraSleep,
} from './sleep-document.js';

type Kind = 'sleep' | 'daily_sleep';

const DAY_MS = 86_400_000;

/** What Oura knows of a person's sleep. */
export class OuraClient {
  constructor(
    private readonly apiUrl: string,
    private readonly calls: AthleteCalls,
  ) {}

  /** With the score of its day; undefined where it is gone. */
  async sleep(asker: Asker, id: string): Promise<OuraSleep | undefined> {
    const document = await this.get(asker, 'sleep', id);
    if (document === undefined) return undefined;
    const { date } = toOuraSleep(document);
    return toOuraSleep(document, (await this.scoresOf(asker, date, date)).get(date));
  }

  /**
   * Those of the day that this score is of; none where the score is gone. The score is asked for again after them: a new sleep
   * with an old score would look as new as the same sleep with its new one.
   */
  async sleepsScoredBy(asker: Asker, dailyId: string): Promise<OuraSleep[]> {
    const document = await this.get(asker, 'daily_sleep', dailyId);
    if (document === undefined) return [];
    const { day } = toOuraDailySleep(document);
    const sleeps = await this.ofDays(asker, 'sleep', day, day);
    const daily = (await this.scoresOf(asker, day, day)).get(day);
    return sleeps.map((sleep) => toOuraSleep(sleep, daily));
  }

  /**
   * The documents of these days, both included, each to be read for itself: one odd document must not hide the others. Scores
   * are asked for after them here as well.
   */
  async sleepsOf(asker: Asker, from: string, to: string): Promise<Array<() => OuraSleep>> {
    const sleeps = await this.ofDays(asker, 'sleep', from, to);
    const scores = await this.scoresOf(asker, from, to);
    return sleeps.map((sleep) => () => toOuraSleep(sleep, scores.get(dayOf(sleep))));
  }

  private async scoresOf(asker: Asker, from: string, to: string): Promise<Map<string, OuraDailySleep>> {
    const documents = await this.ofDays(asker, 'daily_sleep', from, to);
    const days = documents.map(readableDailySleep).filter((daily) => daily !== undefined);
    return new Map(days.map((daily) => [daily.day, daily]));
  }

  /** Whether the last day belongs to a range differs between their documents: one more is asked for. */
  private async ofDays(asker: Asker, kind: Kind, from: string, to: string): Promise<unknown[]> {
    const dayAfter = new Date(Date.parse(to) + DAY_MS).toISOString().slice(0, 10);
    const url = `${this.url(kind)}?start_date=${from}&end_date=${dayAfter}`;
    const all = await this.calls.list(asker, kind, { url, items: 'data', token: 'next_token' });
    return all.filter((document) => dayOf(document) >= from && dayOf(document) <= to);
  }

  private get(asker: Asker, kind: Kind, id: string): Promise<unknown> {
    return this.calls.get(asker, kind, `${this.url(kind)}/${encodeURIComponent(id)}`);
  }

  private url(kind: Kind): string {
    return `${this.apiUrl}/v2/usercollection/${kind}`;
  }
}

function dayOf(document: unknown): string {
  const day = (document as { day?: unknown } | null)?.day;
  return typeof day === 'string' ? day : '';
}
