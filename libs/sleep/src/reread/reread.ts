import { type JsMsg } from '@nats-io/jetstream';
import { type NatsConnection } from '@nats-io/transport-node';
import {
  CORE_STREAM,
  decodeOrMalformed,
  DependencyUnavailable,
  storedMessages,
  type Logger,
  MessageMalformed,
  receivedAt,
} from '#platform';
import { sleepRawReceived } from '../contract/sleep-raw-received.js';
import { newestOfEach, sessionOf, type SleepSession } from '../normalise/session.js';
import { type SleepStore } from '../normalise/sleep-store.js';

export interface RereadSummary {
  /** Events read from the stream. */
  read: number;
  /** Nights that were missing in the database, or differed. */
  restored: number;
  /** Malformed, or so old when the stream stored them that an erasure may be forgotten: a worker dead-letters these. */
  skipped: number;
  /** Refused by the database; the log says why. */
  failed: number;
  /** Time of arrival of the newest handled event. */
  upTo: Date | undefined;
}

/**
 * Stores the stream's nights since a time once more. This helps in two cases. Postgres has lost rows in an asynchronous fail-over. Or the
 * stream has lost its newest messages: it assigns their sequences again, and consumers skip the new events as handled.
 *
 * The guards of the upsert and the erasures hold as they do in the worker. An older session overwrites no newer session, and deleted people
 * stay deleted. A reread may run beside the workers, and again at any time. It does not call vendors: the daily reconciliation finds the
 * changes there.
 */
export class Reread {
  constructor(
    private readonly connection: NatsConnection,
    private readonly store: Pick<SleepStore, 'restore'>,
    private readonly logger: Logger,
    private readonly oldestMs: number,
  ) {}

  /** If a server goes away, the summary has the time from which another call continues. */
  async run(from: Date, summary: RereadSummary = emptySummary()): Promise<RereadSummary> {
    const events = { stream: CORE_STREAM, subject: sleepRawReceived.name, from: { time: from } };
    for await (const batch of storedMessages(this.connection, events)) {
      const sessions = batch.flatMap((message) => this.sessionsOf(message));
      summary.skipped += batch.length - sessions.length;
      await this.restore(newestOfEach(sessions), summary);
      summary.read += batch.length;
      summary.upTo = batch.at(-1)?.time;
    }
    return summary;
  }

  private sessionsOf({ headers, time, data }: JsMsg): SleepSession[] {
    const event = decodeOrMalformed(sleepRawReceived, Buffer.from(data).toString());
    if (event instanceof MessageMalformed) return [];
    const session = sessionOf(event, data, receivedAt(headers, time).getTime());
    return time.getTime() - session.receivedAtMs <= this.oldestMs ? [session] : [];
  }

  /** Stores a batch; splits it into halves if the database refuses one event. */
  private async restore(sessions: readonly SleepSession[], summary: RereadSummary): Promise<void> {
    if (sessions.length === 0) return;
    try {
      summary.restored += await this.store.restore(sessions);
    } catch (err) {
      if (err instanceof DependencyUnavailable) throw err;
      if (sessions.length === 1) {
        summary.failed += 1;
        this.logger.warn({ err, event_id: sessions[0]?.eventId }, 'sleep cannot be stored');
        return;
      }
      const middle = Math.ceil(sessions.length / 2);
      await this.restore(sessions.slice(0, middle), summary);
      await this.restore(sessions.slice(middle), summary);
    }
  }
}

export const emptySummary = (): RereadSummary => ({
  read: 0,
  restored: 0,
  skipped: 0,
  failed: 0,
  upTo: undefined,
});
