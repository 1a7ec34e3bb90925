import { Inject, Injectable } from '@nestjs/common';
import { Database, LOGGER, type Logger } from '#platform';
import { StreamAttempts } from './stream-attempts.js';

const WAIT_MS = 10_000;

/** A new activity's streams are fetched as it arrives: its athlete is looking at it. What does not succeed is the backfill's. */
@Injectable()
export class UploadedStreams {
  constructor(
    private readonly attempts: StreamAttempts,
    private readonly database: Database,
    @Inject(LOGGER) private readonly logger: Logger,
  ) {}

  async fetch(athleteId: string, externalActivityId: string): Promise<void> {
    try {
      const { rows } = await this.database.query<{ id: string }>(
        `select id
         from activity
         where athlete_id = $1 and external_activity_id = $2 and stream_fetch_status = 'pending'`,
        [athleteId, externalActivityId],
      );
      const manner = { class: 'live', waitMs: WAIT_MS } as const;
      for (const { id } of rows) await this.attempts.attempt({ id, athleteId, externalActivityId }, manner);
    } catch (err) {
      this.logger.warn({ err, activity: externalActivityId }, 'streams of an upload left to the backfill');
    }
  }
}
