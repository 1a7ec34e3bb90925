import { Inject, Injectable } from '@nestjs/common';
import { Athletes } from '#connections';
import { CONFIG } from '#platform';
import { type CallOutcome, ok, type ProductConfig, settingsOf, type VendorId } from '#vendors';
import { ActivityStore } from '../activity-store.js';
import { nextPosition, PAGE } from '../list-position.js';
import { ReconciliationCalls } from './reconciliation-calls.js';
import { type HistoryClaim, type HistoryProgress, HistoryRows } from './history-rows.js';

const DAY_MS = 86_400_000;
const RECENT_DAYS = 30;
// An activity may pass the end of the vendor's list between two calls, and the clock of the database may be two days behind the vendor's.
const MARGIN_DAYS = 3;

/** A completely listed range of an athlete's history. */
export interface ListedRange {
  readonly generation: number;
  /** The vendor's list has all activities that began since then. Null: the whole history. */
  readonly since: Date | null;
  readonly progress: HistoryProgress;
}

type Unlisted = HistoryProgress & { readonly before: number };

/** Stores the vendor's list of an athlete's activities, page by page, newest first. A later worker continues from the last stored page. */
@Injectable()
export class HistoryListing {
  constructor(
    private readonly calls: ReconciliationCalls,
    private readonly athletes: Athletes,
    private readonly store: ActivityStore,
    private readonly rows: HistoryRows,
    @Inject(CONFIG) private readonly config: ProductConfig,
  ) {}

  /** Yields after each page. */
  async *complete(claim: HistoryClaim, signal: AbortSignal): AsyncGenerator<void, CallOutcome<ListedRange>> {
    const generation = await this.athletes.generationOf(claim.athlete_id);
    let progress = claim.progress ?? this.rows.beginning(claim);
    const since = this.sinceOf(claim, progress);
    while (progress.before !== null) {
      const at = { ...progress, before: progress.before };
      const listed = await this.listPage(claim, generation, since, at, signal);
      if (listed.kind !== 'ok') return listed;
      progress = listed.value;
      yield;
    }
    return ok({ generation, since: later(since, this.listedSince(claim)), progress });
  }

  /** The start of the range. The range leaves out activities past their retention: they would be stored and then deleted again. */
  private sinceOf({ provider }: HistoryClaim, { begun_at, is_whole }: HistoryProgress): Date | null {
    const isRecent = !is_whole && this.calls.source(provider).history !== 'since connection';
    const days = Math.min(isRecent ? RECENT_DAYS : Infinity, this.retentionDays(provider));
    return days === Infinity ? null : daysBefore(new Date(begun_at), days);
  }

  /**
   * The list and the requests by id of some vendors have only the last days. An earlier activity is answered with 404 although nobody deleted it,
   * so it must not count as missing. The same holds for an activity from before the last consent, if the vendor shows a connection only later
   * activities. Null: no limit.
   */
  private listedSince({ provider, claimed_at, connected_at }: HistoryClaim): Date | null {
    const { history, listedDays } = this.calls.source(provider);
    const listed = listedDays === undefined ? null : daysBefore(claimed_at, listedDays - MARGIN_DAYS);
    return later(listed, history === 'since connection' ? connected_at : null);
  }

  private retentionDays(provider: VendorId): number {
    return settingsOf(this.config, provider).retentionDays ?? Infinity;
  }

  private async listPage(
    claim: HistoryClaim,
    generation: number,
    since: Date | null,
    progress: Unlisted,
    signal: AbortSignal,
  ): Promise<CallOutcome<HistoryProgress>> {
    const { athlete_id: athleteId, provider, scopes } = claim;
    const owner = { athleteId, provider };
    const at = { before: progress.before, page: progress.page ?? 1 };
    const listing = { before: new Date(at.before * 1_000), page: at.page, perPage: PAGE };
    const listed = await this.calls.ask(provider, { athleteId, signal }, (source, context) =>
      source.list(context, listing),
    );
    if (listed.kind !== 'ok') return listed;
    const { answer: page, askedAt } = listed.value;
    const unreadable = page.unreadable.flatMap(({ id }) => (id === undefined ? [] : [id]));
    const source = this.calls.source(provider);
    const next = nextPosition(at, page, { source, scopes, since, askedAt });
    const moved = await this.athletes.inGeneration(athleteId, generation, async (sql) => {
      await this.store.savePage(sql, owner, page, since, askedAt);
      await this.store.listed(sql, owner, unreadable, askedAt);
      return this.rows.moveOn(sql, claim, progress, next);
    });
    return ok(moved);
  }
}

function daysBefore(at: Date, days: number): Date {
  return new Date(at.getTime() - days * DAY_MS);
}

function later(one: Date | null, other: Date | null): Date | null {
  if (!one || !other) return one ?? other;
  return one > other ? one : other;
}
