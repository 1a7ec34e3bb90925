import { Injectable } from '@nestjs/common';
import { Backfill } from '#backfill';
import { Athletes } from '#connections';
import { Database, DependencyUnavailable, NotFound, OperatorActions } from '#platform';
import { type FetchState, StreamFetches } from '#streams';

/** An operator's actions on stream fetches and backfills. Each action is recorded with the operator's name before it is carried out. */
@Injectable()
export class Operations {
  constructor(
    private readonly fetches: StreamFetches,
    private readonly backfill: Backfill,
    private readonly athletes: Athletes,
    private readonly database: Database,
    private readonly actions: OperatorActions,
  ) {}

  /**
   * Makes the fetch due again with a full number of attempts. Begins the athlete's backfill at once, without waiting for the next window.
   */
  async resetStreamFetch(activityId: string, actor: string): Promise<FetchState> {
    const state = await this.database.transaction(async (sql) => {
      await this.actions.note({ actor, action: 'streams.reset', target: activityId }, sql);
      return this.fetches.reset(activityId, sql);
    });
    await this.backfill.beginAll(state.athlete_id);
    return state;
  }

  async beginBackfill(athleteId: string, actor: string): Promise<void> {
    if (!(await this.athletes.exists(athleteId))) throw new NotFound('No such athlete');
    await this.actions.note({ actor, action: 'backfill.begin', target: athleteId });
    if (!(await this.backfill.beginAll(athleteId))) throw new DependencyUnavailable('redis');
  }

  async pauseBackfills(actor: string): Promise<void> {
    await this.actions.note({ actor, action: 'backfills.pause', target: 'all' });
    await this.backfill.pause();
  }

  async resumeBackfills(actor: string): Promise<void> {
    await this.actions.note({ actor, action: 'backfills.resume', target: 'all' });
    await this.backfill.resume();
  }
}
