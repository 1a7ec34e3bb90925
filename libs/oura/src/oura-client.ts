import { z } from 'zod';
import { type AthleteCalls } from '#connections';
import { type OuraDailySleep, type OuraSleep, toOuraDailySleep, toOuraSleep } from './sleep-document.js';

const Page = z.object({ data: z.array(z.unknown()) });

/** What Oura knows of a person's sleep. */
export class OuraClient {
  constructor(
    private readonly apiUrl: string,
    private readonly calls: AthleteCalls,
  ) {}

  /** With the score of its day; undefined where it is gone. */
  async sleep(athleteId: string, id: string): Promise<OuraSleep | undefined> {
    const document = await this.get(athleteId, 'sleep', `/sleep/${encodeURIComponent(id)}`);
    if (document === undefined) return undefined;
    const { date } = toOuraSleep(document);
    return toOuraSleep(document, await this.dailyOf(athleteId, date));
  }

  /** Those of the day that this score is of; none where the score is gone. */
  async sleepsScoredBy(athleteId: string, dailyId: string): Promise<OuraSleep[]> {
    const document = await this.get(athleteId, 'daily_sleep', `/daily_sleep/${encodeURIComponent(dailyId)}`);
    if (document === undefined) return [];
    const daily = toOuraDailySleep(document);
    return (await this.ofDay(athleteId, 'sleep', daily.day)).map((sleep) => toOuraSleep(sleep, daily));
  }

  private async dailyOf(athleteId: string, day: string): Promise<OuraDailySleep | undefined> {
    const found = await this.ofDay(athleteId, 'daily_sleep', day);
    return found.map(toOuraDailySleep).find((daily) => daily.day === day);
  }

  /** Whether the last day belongs to a range differs between their documents: one more is asked for. */
  private async ofDay(athleteId: string, kind: 'sleep' | 'daily_sleep', day: string): Promise<unknown[]> {
    const dayAfter = new Date(Date.parse(day) + 86_400_000).toISOString().slice(0, 10);
    const page = await this.get(athleteId, kind, `/${kind}?start_date=${day}&end_date=${dayAfter}`);
    if (page === undefined) return [];
    return Page.parse(page).data.filter((document) => (document as { day?: unknown } | null)?.day === day);
  }

  private get(athleteId: string, endpoint: string, path: string): Promise<unknown> {
    return this.calls.get(athleteId, endpoint, `${this.apiUrl}/v2/usercollection${path}`);
  }
}
