import { Inject, Injectable } from '@nestjs/common';
import { Counter } from 'prom-client';
import { LOGGER, type Logger, MessageMalformed, startAtZero } from '#platform';
import { type CallFailure, Sources, vendorsWith } from '#vendors';
import { WebhookInbox } from '#webhooks';
import { type NativeVendor } from '../contract/native-vendor.js';
import { type HeldRecord, HeldRecords, isNewer } from '../native/held-records.js';
import { NativeNights } from '../native/native-nights.js';
import { reachOf } from '../native/reach.js';
import { type Payload, payloadOf } from '../native/vendor-records.js';
import { type ReconciliationClaim } from './reconciliation-store.js';

const comparedRecords = new Counter({
  name: 'sleep_compared_records_total',
  help: "Records in which a vendor's list differed from our rows",
  labelNames: ['vendor', 'result'],
});
startAtZero(
  comparedRecords,
  vendorsWith('sleep').flatMap((vendor) =>
    ['history', 'found', 'lacking', 'unreadable'].map((result) => ({ vendor, result })),
  ),
);

/**
 * Compares the rows of some dates with the vendor's list of these dates. Publishes new and newer records, as `SleepEvents` does after an
 * event. A record that the list lacks is not deleted here. Instead the record is fetched by its id, as after an event.
 */
@Injectable()
export class SliceComparison {
  constructor(
    private readonly sources: Sources,
    private readonly nights: NativeNights,
    private readonly records: HeldRecords,
    private readonly inbox: WebhookInbox,
    @Inject(LOGGER) private readonly logger: Logger,
  ) {}

  /**
   * Compares the dates from `from` to the claim's `until`, both included. May run again for the same dates: to publish a night again changes
   * nothing.
   */
  async compare(
    vendor: NativeVendor,
    claim: ReconciliationClaim,
    from: string,
    signal: AbortSignal,
  ): Promise<CallFailure | undefined> {
    const { athlete_id: athleteId, subject: userId, until, is_history } = claim;
    const context = { athleteId, class: is_history ? 'import' : 'backfill', signal } as const;
    const source = this.sources.sleep(vendor);
    const list = await source.list(context, from, until);
    if (list.kind !== 'ok') return list;
    const { records, unreadable } = list.value;
    this.countUnreadable(vendor, unreadable);
    const ids = records.map(({ id }) => id);
    const held = await this.records.find(userId, vendor, ids, { from, to: until });
    const known = new Map(held.map((record) => [record.record_id, record]));
    const fresh = records.flatMap((record) => {
      const payload = payloadOf(userId, vendor, record, claim.claimed_at);
      return isOfDates(payload, from, until) && isNewer(record, payload, known.get(record.id)) ? payload : [];
    });
    await this.publishEach(vendor, fresh, claim);
    // If a listed record is unreadable, a missing record may be the unreadable record. So no missing record is fetched.
    const reach = reachOf(source, claim.connected_at, claim.claimed_at);
    const missing = unreadable.length === 0 ? missingFrom(new Set(ids), held, reach) : [];
    for (const { record_id } of missing) await this.fetch(vendor, claim, record_id);
    comparedRecords.inc({ vendor, result: is_history ? 'history' : 'found' }, fresh.length);
    comparedRecords.inc({ vendor, result: 'lacking' }, missing.length);
    return undefined;
  }

  /** Unreadable documents are skipped, so that one of them does not stop a whole history. */
  private countUnreadable(vendor: NativeVendor, problems: readonly string[]): void {
    comparedRecords.inc({ vendor, result: 'unreadable' }, problems.length);
    for (const problem of problems)
      this.logger.warn({ vendor, problem }, 'a listed sleep record cannot be parsed and is skipped');
  }

  /** Skips records whose fields are out of bounds. */
  private async publishEach(
    vendor: NativeVendor,
    payloads: readonly Payload[],
    claim: ReconciliationClaim,
  ): Promise<void> {
    const publish = async (payload: Payload) => {
      try {
        await this.nights.publish([payload], claim.claimed_at, claim.connected_at);
      } catch (err) {
        if (!(err instanceof MessageMalformed)) throw err;
        comparedRecords.inc({ vendor, result: 'unreadable' });
        this.logger.warn({ err, vendor }, 'a listed sleep record has a value out of bounds and is skipped');
      }
    };
    await Promise.all(payloads.map(publish));
  }

  private async fetch(vendor: NativeVendor, claim: ReconciliationClaim, objectId: string): Promise<void> {
    const { vendor_athlete_id: ownerId, claimed_at: eventTime, begun_at: begunAt } = claim;
    const dedupeKey = `compared:${ownerId}:${objectId}:${begunAt}`;
    const event = { ownerId, objectType: 'sleep', objectId, aspect: 'update', eventTime, dedupeKey } as const;
    await this.inbox.add(vendor, event);
  }
}

const isOfDates = ({ date }: Payload, from: string, to: string) => date >= from && date <= to;

/** `reach`: an earlier record may be missing although nobody deleted it. */
function missingFrom(listed: ReadonlySet<string>, held: readonly HeldRecord[], reach: string): HeldRecord[] {
  return held.filter(
    ({ record_id, state, date, is_of_dates }) =>
      is_of_dates && date >= reach && state !== 'deleted' && !listed.has(record_id),
  );
}
