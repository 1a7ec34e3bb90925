import { Inject, Injectable } from '@nestjs/common';
import { Athletes } from '#connections';
import { AppError, Clock, Database, LOGGER, type Logger } from '#platform';
import { type Answered, type Owner, StravaClient, StravaNotFound, type Who } from '#strava';
import { ActivityStore } from './activity-store.js';

const WAIT_MS = 10_000;

/** What a webhook tells, once it has been believed: an athlete waits for it, so it may use all of the budget. */
@Injectable()
export class LiveChanges {
  constructor(
    private readonly strava: StravaClient,
    private readonly athletes: Athletes,
    private readonly store: ActivityStore,
    private readonly database: Database,
    private readonly clock: Clock,
    @Inject(LOGGER) private readonly logger: Logger,
  ) {}

  async activityChanged(
    { athleteId, generation }: Owner,
    externalId: string,
    eventTime: Date,
    aspect: 'create' | 'update',
    answered?: Answered,
  ): Promise<void> {
    if (aspect === 'create')
      await this.store.forgetTombstoneBefore(this.database, athleteId, externalId, eventTime);
    if (await this.store.isBuried(this.database, athleteId, externalId)) return;
    const asker = { athleteId, class: 'live', waitMs: WAIT_MS } as const;
    const askedAt = answered?.askedAt ?? new Date(this.clock.nowMs());
    try {
      const detail = answered?.detail ?? (await this.strava.activity(asker, externalId));
      await this.athletes.inGeneration(athleteId, generation, (sql) =>
        this.store.saveDetail(sql, athleteId, detail, askedAt),
      );
    } catch (error) {
      // Gone again, or hidden from us: a delete follows where it is gone.
      if (!(error instanceof StravaNotFound)) throw error;
      this.logger.debug({ activity: externalId }, 'changed activity cannot be seen');
      return;
    }
    await this.fetchPhotos(asker, externalId, generation);
  }

  /** Already confirmed with the vendor. */
  async activityDeleted(
    { athleteId, generation }: Owner,
    externalId: string,
    eventTime: Date,
  ): Promise<void> {
    await this.athletes.aloneInGeneration(athleteId, generation, (sql) =>
      this.store.remove(sql, athleteId, externalId, eventTime),
    );
  }

  /** Photos that cannot be had now stay pending for the next import: the event would cost its detail once more. */
  private async fetchPhotos(asker: Who, externalId: string, generation: number): Promise<void> {
    const pending = await this.store.pendingPhotosOf(this.database, asker.athleteId, externalId);
    if (!pending) return;
    try {
      const photos = await this.strava.photos(asker, externalId);
      await this.athletes.inGeneration(asker.athleteId, generation, (sql) =>
        this.store.savePhotos(sql, pending.id, photos),
      );
    } catch (error) {
      const isAway = error instanceof AppError && error.kind === 'unavailable';
      if (!(error instanceof StravaNotFound || isAway)) throw error;
      this.logger.info({ err: error, activity: externalId }, 'photos left for the next import');
    }
  }
}
