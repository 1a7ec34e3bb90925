import { type Asker, type AthleteCalls } from '#connections';
import { toWhoopSleep, type WhoopSleep } from './sleep-document.js';

const LARGEST_PAGE = 25;
const HOUR_MS = 3_600_000;
// A sleep begins at most a day before the local date of its end, and local time is up to 14 hours ahead of UTC and 12 behind.
const BEFORE_MS = 38 * HOUR_MS;
const AFTER_MS = 36 * HOUR_MS;

/** What WHOOP knows of a person's sleep. */
export class WhoopClient {
  constructor(
    private readonly apiUrl: string,
    private readonly calls: AthleteCalls,
  ) {}

  /** Undefined where it is gone. */
  async sleep(asker: Asker, id: string): Promise<WhoopSleep | undefined> {
    const document = await this.calls.get(asker, 'sleep', `${this.url}/${encodeURIComponent(id)}`);
    return document === undefined ? undefined : toWhoopSleep(document);
  }

  /**
   * The documents of these local dates, both included, and of a day or two around them, each to be read for itself: one odd
   * document must not hide the others. WHOOP's list goes by the instant of falling asleep.
   */
  async sleepsOf(asker: Asker, from: string, to: string): Promise<Array<() => WhoopSleep>> {
    const query = new URLSearchParams({
      limit: `${LARGEST_PAGE}`,
      start: new Date(Date.parse(from) - BEFORE_MS).toISOString(),
      end: new Date(Date.parse(to) + AFTER_MS).toISOString(),
    });
    const paging = { url: `${this.url}?${query.toString()}`, items: 'records', token: 'nextToken' };
    const all = await this.calls.list(asker, 'sleep', paging);
    return all.map((document) => () => toWhoopSleep(document));
  }

  private get url(): string {
    return `${this.apiUrl}/v2/activity/sleep`;
  }
}
