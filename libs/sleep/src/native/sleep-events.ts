import { Injectable } from '@nestjs/common';
import { Database } from '#platform';
import { type CallOutcome, ok, type SleepRecord, type SleepSource, Sources, type VendorId } from '#vendors';
import { done, type EventGroup, type EventHandler, type EventOwner, type HandlerAnswer } from '#webhooks';
import { userIdOf } from '../records/sleep-records.js';
import { HeldRecords, isNewer } from './held-records.js';
import { NativeNights } from './native-nights.js';
import { listedSince, reachOf } from './reach.js';
import { deletedRecord, type Payload, payloadOf } from './vendor-records.js';

// A webhook may arrive before the vendor's own database has the record, so the first 404 does not count.
const ATTEMPTS_BEFORE_GONE = 2;
// A night with a date as its id may follow its event by hours. The tenth attempt is made 43 min after the first; the daily reconciliation finds
// a later night.
const ATTEMPTS_BEFORE_NO_NIGHT = 10;

/**
 * Fetches the sleep records that webhook events are about, and publishes them as raw nights. A deletion needs no call, since the events
 * are signed. After an event about a day's score, all sleeps of that day are fetched.
 */
@Injectable()
export class SleepEvents implements EventHandler {
  constructor(
    private readonly sources: Sources,
    private readonly database: Database,
    private readonly nights: NativeNights,
    private readonly held: HeldRecords,
  ) {}

  async handle(owner: EventOwner, group: EventGroup): Promise<HandlerAnswer> {
    const userId = await userIdOf(this.database, owner.athleteId);
    // The athlete has been deleted.
    if (userId === null) return done('ignored');
    const found = await this.recordsOf(owner, userId, group);
    if (found.kind !== 'ok' && found.kind !== 'gone') return found;
    const source = this.sources.sleep(group.vendor);
    const notDeleted = found.kind === 'gone' && withoutDeletion(owner, group, source, found.reason);
    if (notDeleted) return notDeleted;
    const payloads = found.kind === 'gone' ? [deletionOf(userId, group, source)] : found.value;
    await this.nights.publish(payloads, group.claimedAt, owner.connectedAt, group.origin.requestId);
    return done(found.kind === 'gone' || group.latest.aspect === 'delete' ? 'deleted' : 'applied');
  }

  private async recordsOf(
    { athleteId }: EventOwner,
    userId: string,
    group: EventGroup,
  ): Promise<CallOutcome<readonly Payload[]>> {
    const { vendor, objectType, objectId: id, latest } = group;
    const about = objectType === 'sleep_score' ? 'score' : 'sleep';
    // The score's sleeps are not deleted with it, and their own events follow.
    const source = this.sources.sleep(vendor);
    if (latest.aspect === 'delete') return ok(about === 'score' ? [] : [deletionOf(userId, group, source)]);
    const records = await source.recordsOf({ athleteId, class: 'live' }, { about, id });
    if (records.kind !== 'ok') return records;
    return ok(await this.changed(userId, vendor, records.value, group.claimedAt));
  }

  /** For a vendor that dates no changes, leaves out the records that we have already: each would get the time of this request and look newer. */
  private async changed(
    userId: string,
    vendor: VendorId,
    records: readonly SleepRecord[],
    requestedAt: Date,
  ): Promise<Payload[]> {
    const undated = records.filter(({ updatedAt }) => updatedAt === null).map(({ id }) => id);
    const ours = undated.length > 0 ? await this.held.find(userId, vendor, undated) : [];
    return records.flatMap((record) => {
      const payload = payloadOf(userId, vendor, record, requestedAt);
      const held = ours.find(({ record_id }) => record_id === record.id);
      return isNewer(record, payload, held) ? payload : [];
    });
  }
}

/** The answer to a 404 that does not mean a deletion: the night may still come, or the vendor does not show so early a night. */
function withoutDeletion(
  { connectedAt }: EventOwner,
  { objectId, latest, claimedAt }: EventGroup,
  source: SleepSource,
  reason: string,
): HandlerAnswer | undefined {
  const isDated = source.namedBy === 'date';
  if (isDated && objectId < listedSince(source, claimedAt)) return done('ignored');
  const attempts = isDated ? ATTEMPTS_BEFORE_NO_NIGHT : ATTEMPTS_BEFORE_GONE;
  if (latest.attempts < attempts) return { kind: 'failed', reason };
  return isDated && objectId < reachOf(source, connectedAt, claimedAt) ? done('ignored') : undefined;
}

function deletionOf(userId: string, group: EventGroup, source: SleepSource): Payload {
  const { vendor, objectId, latest, claimedAt } = group;
  return deletedRecord(
    userId,
    { vendor, objectId, eventTime: latest.eventTime, requestedAt: claimedAt },
    source,
  );
}
