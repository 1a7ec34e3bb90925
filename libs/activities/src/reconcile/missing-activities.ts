import { Inject, Injectable } from '@nestjs/common';
import { Athletes } from '#connections';
import { LOGGER, type Logger } from '#platform';
import { type CallFailure, type CallOutcome, isForbidden, ok } from '#vendors';
import { ActivityStore } from '../activity-store.js';
import { requestActivity } from '../request-activity.js';
import { type ListedRange } from './history-listing.js';
import { ReconciliationCalls } from './reconciliation-calls.js';
import { type HistoryClaim, HistoryRows } from './history-rows.js';

// Three failed confirmations in a row mean an outage of the vendor, not faulty activities.
const OUTAGE = 3;

/**
 * Requests each activity by its id that we have and the vendor's list lacks. Removes the activity if the vendor answers 404. Handles
 * at most 50 activities in a reconciliation. After an outage, a 403 or a malformed answer the activity is requested another day. Any other
 * failure concerns all requests and ends the attempt.
 */
@Injectable()
export class MissingActivities {
  constructor(
    private readonly calls: ReconciliationCalls,
    private readonly athletes: Athletes,
    private readonly store: ActivityStore,
    private readonly rows: HistoryRows,
    @Inject(LOGGER) private readonly logger: Logger,
  ) {}

  /** Yields after each activity. Returns how many activities the list lacked, or the vendor's failure after three outages in a row. */
  async *confirmAll(
    claim: HistoryClaim,
    listed: ListedRange,
    signal: AbortSignal,
  ): AsyncGenerator<void, CallOutcome<number>> {
    const { athlete_id: athleteId, provider } = claim;
    const missing = await this.rows.missing({ athleteId, provider }, listed.since, listed.progress);
    let outages = 0;
    for (const externalId of missing) {
      const failure = await this.confirm(claim, listed.generation, externalId, signal);
      if (failure && !isOfOneActivity(failure)) return failure;
      if (failure) {
        const about = { reason: failure.reason, activity: externalId };
        this.logger.info(about, 'an activity missing from the list is confirmed another day: it failed');
        await this.rows.unconfirmed(claim, externalId);
      }
      outages = isOutage(failure) ? outages + 1 : 0;
      if (failure && outages >= OUTAGE) return failure;
      yield;
    }
    return ok(missing.length);
  }

  private async confirm(
    claim: HistoryClaim,
    generation: number,
    externalId: string,
    signal: AbortSignal,
  ): Promise<CallFailure | undefined> {
    const { athlete_id: athleteId, provider } = claim;
    const outcome = await this.calls.ask(provider, { athleteId, signal }, (source, context) =>
      requestActivity(source, context, externalId),
    );
    if (outcome.kind === 'ok') {
      const { answer, askedAt } = outcome.value;
      await this.athletes.inGeneration(athleteId, generation, async (sql) => {
        await this.rows.claims.require(sql, claim);
        await this.store.saveDetail(sql, { athleteId, provider }, answer, askedAt);
      });
      return undefined;
    }
    if (outcome.kind !== 'gone') return outcome;
    await this.athletes.aloneInGeneration(athleteId, generation, async (sql) => {
      await this.rows.claims.require(sql, claim);
      await this.store.remove(sql, { athleteId, provider }, externalId);
    });
    return undefined;
  }
}

function isOfOneActivity(failure: CallFailure): boolean {
  return failure.kind === 'broken' || isForbidden(failure);
}

function isOutage(failure: CallFailure | undefined): boolean {
  return failure?.kind === 'broken' && failure.because === 'outage';
}
