import { webhookEvents } from '#connections';
import { type Database, loadSql } from '#platform';
import { dedupeKey, readEvent } from './event.js';

const receiveEvent = loadSql(import.meta.url, './sql/receive-event.sql');

const VENDOR = 'strava';

export type Receipt = 'received' | 'duplicate' | 'ignored';

/** Where Strava's events are kept before they are acknowledged. */
export class WebhookInbox {
  /** `nudge` wakes whoever works on events. */
  constructor(
    private readonly database: Database,
    private readonly nudge: () => void,
  ) {}

  /** Durable once it returns. Throws InvalidInput where this is no event. */
  async receive(raw: string): Promise<Receipt> {
    const receipt = await this.keep(raw);
    webhookEvents.inc({ vendor: VENDOR, result: receipt });
    if (receipt === 'received') this.nudge();
    return receipt;
  }

  private async keep(raw: string): Promise<Receipt> {
    const event = readEvent(raw);
    const { ownerId, objectType, objectId, aspect, eventTime, subscriptionId } = event;
    const about = [VENDOR, dedupeKey(event), ownerId, objectType, objectId, aspect, eventTime];
    const { rows } = await this.database.query<{ outcome: string | null }>(receiveEvent, [
      ...about,
      raw,
      subscriptionId,
    ]);
    if (!rows[0]) return 'duplicate';
    return rows[0].outcome === null ? 'received' : 'ignored';
  }
}
