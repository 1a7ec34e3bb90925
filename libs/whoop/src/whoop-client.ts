import { type AthleteCalls } from '#connections';
import { toWhoopSleep, type WhoopSleep } from './sleep-document.js';

/** What WHOOP knows of a person's sleep. */
export class WhoopClient {
  constructor(
    private readonly apiUrl: string,
    private readonly calls: AthleteCalls,
  ) {}

  /** Undefined where it is gone. */
  async sleep(athleteId: string, id: string): Promise<WhoopSleep | undefined> {
    const url = `${this.apiUrl}/v2/activity/sleep/${encodeURIComponent(id)}`;
    const document = await this.calls.get(athleteId, 'sleep', url);
    return document === undefined ? undefined : toWhoopSleep(document);
  }
}
