import { Injectable } from '@nestjs/common';
import { Backfill } from '#backfill';
import { Athletes } from '#connections';
import { DependencyUnavailable, NotFound } from '#platform';
import { type FetchState, StreamFetches } from '#streams';

/** What operators set going, or stop. */
@Injectable()
export class Operations {
  constructor(
    private readonly fetches: StreamFetches,
    private readonly backfill: Backfill,
    private readonly athletes: Athletes,
  ) {}

  /** From the beginning, with all its attempts; its athlete does not wait for a window that was waited for before. */
  async resetStreamFetch(activityId: string): Promise<FetchState> {
    const state = await this.fetches.reset(activityId);
    await this.backfill.begin(state.athlete_id);
    return state;
  }

  async beginBackfill(athleteId: string): Promise<void> {
    if (!(await this.athletes.exists(athleteId))) throw new NotFound('No such athlete');
    if (!(await this.backfill.begin(athleteId))) throw new DependencyUnavailable('redis');
  }

  pauseBackfills(): Promise<void> {
    return this.backfill.pause();
  }

  resumeBackfills(): Promise<void> {
    return this.backfill.resume();
  }
}
