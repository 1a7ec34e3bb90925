import { Module, type OnApplicationBootstrap } from '@nestjs/common';
import { ActivitiesWorkModule, ImportNews } from '#activities';
import { Backfill } from '#backfill';
import { backfillModule } from './streams.js';

/** A history whose summaries are here is one whose streams can be fetched. */
@Module({ imports: [ActivitiesWorkModule, backfillModule] })
export class BackfillAfterSummariesModule implements OnApplicationBootstrap {
  constructor(
    private readonly news: ImportNews,
    private readonly backfill: Backfill,
  ) {}

  onApplicationBootstrap(): void {
    this.news.summariesIn.subscribe((athleteId) => void this.backfill.begin(athleteId));
  }
}
