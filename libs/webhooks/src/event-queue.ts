import { type Database, deletePast, type Fenced, FencedRows, loadSql, type Sql } from '#platform';
import { type Aspect, type ObjectType, type VendorId } from '#vendors';
import { type EventGroup, type EventOutcome, type WaitingEvent } from './handlers.js';

const claimOwner = loadSql(import.meta.url, './sql/claim-owner.sql');
const beginWork = loadSql(import.meta.url, './sql/begin-work.sql');
const holdOwner = loadSql(import.meta.url, './sql/hold-owner.sql');
const finishWork = loadSql(import.meta.url, './sql/finish-work.sql');
const postponeWork = loadSql(import.meta.url, './sql/postpone-work.sql');
const releaseOwner = loadSql(import.meta.url, './sql/release-owner.sql');
const purgeDone = loadSql(import.meta.url, './sql/purge-done.sql');

// Some vendors' times are whole seconds. If several events have the same second, the last in this order counts. A delete is confirmed at the
// vendor in any case.
const ORDER_AT_ONE_TIME: Record<Aspect, number> = { create: 0, update: 1, delete: 2 };

export interface OwnerClaim extends Fenced {
  readonly ownerId: string;
  /** Undefined: no event of the owner is due now (they were handled, postponed or deleted since), or the claim is over already. */
  readonly group: EventGroup | undefined;
  /** The largest number of attempts of these events, the present one included. */
  readonly attempts: number;
  /** The largest number of outages since an attempt of these events counted. */
  readonly outages: number;
  /** True if the vendor has confirmed a delete that is as new as the newest of these events. */
  readonly isSuperseded: boolean;
}

/** A claim of an owner with a due event. */
export type Claim = OwnerClaim & { readonly group: EventGroup };

export interface Postponement {
  readonly afterMs: number;
  readonly error: string;
  /** Events with this many attempts are set aside. Absent: no event is set aside. */
  readonly mostAttempts?: number;
  /** An outage lengthens the pauses of further outages, until an attempt counts. */
  readonly counts: 'attempt' | 'outage' | 'nothing';
  /**
   * True: no worker claims the owner for `afterMs`, because no call is left for any of the owner's events. An event that arrives
   * later ends the hold, since it may need no call.
   */
  readonly holdsOwner?: boolean;
}

interface EventRow {
  readonly id: string;
  readonly object_type: ObjectType;
  readonly object_id: string;
  readonly aspect: Aspect;
  readonly event_time: Date;
  readonly attempts: number;
  readonly outages: number;
  readonly request_id: string | null;
  readonly traceparent: string | null;
  readonly claimed_at: Date;
  readonly deleted_at: Date | null;
}

/**
 * The queue of a vendor's waiting events, for any number of workers: one worker at a time handles an owner's events. Owners are served in
 * turn: a new owner waits for one event of each waiting owner. The cost of a claim does not depend on the number of waiting events. Not
 * guaranteed: a worker that dies after the effect and before `finish` leaves the event to be handled again.
 */
export class EventQueue {
  private readonly rows = new FencedRows('webhook', 'webhook_owner', 'vendor', 'owner_id');

  constructor(
    readonly vendor: VendorId,
    private readonly database: Database,
  ) {}

  /** Claims the owner whose turn has come first. Undefined if no unclaimed owner has a due event. */
  async claim(leaseMs: number): Promise<Claim | undefined> {
    for (;;) {
      const { rows } = await this.database.query<{ owner_id: string; fence: string }>(claimOwner, [
        this.vendor,
        leaseMs,
      ]);
      if (!rows[0]) return undefined;
      const claim = await this.begin(rows[0].owner_id, rows[0].fence);
      if (claim.group) return { ...claim, group: claim.group };
      await this.release(claim, 0, () => Promise.resolve());
    }
  }

  /** False if another worker has claimed the owner. */
  renew(claim: OwnerClaim, leaseMs: number): Promise<boolean> {
    return this.rows.renew(this.database, [this.vendor, claim.ownerId], claim, leaseMs);
  }

  /** False if the lease was lost; then nothing is written. */
  async finish(claim: OwnerClaim, outcome: EventOutcome, note?: string): Promise<boolean> {
    const ids = idsOf(claim);
    const written = await this.release(claim, 0, (sql) =>
      sql.query(finishWork, [ids, outcome, note ?? null]),
    );
    return written !== undefined;
  }

  /** Returns the number of events that were set aside; undefined if the lease was lost. */
  async postpone(claim: OwnerClaim, postponement: Postponement): Promise<number | undefined> {
    const { afterMs, error, mostAttempts, counts, holdsOwner } = postponement;
    return this.release(claim, holdsOwner ? afterMs : 0, async (sql) => {
      const values = [idsOf(claim), afterMs, mostAttempts ?? null, counts, error];
      const { rows } = await sql.query<{ outcome: string | null }>(postponeWork, values);
      return rows.filter(({ outcome }) => outcome === 'set_aside').length;
    });
  }

  private async begin(ownerId: string, fence: string): Promise<OwnerClaim> {
    const { rows } = await this.database.query<EventRow>(beginWork, [this.vendor, ownerId, fence]);
    const ordered = [...rows].sort(byTime);
    const [first, latest] = [ordered[0], ordered.at(-1)];
    if (!first || !latest)
      return { ownerId, fence, group: undefined, attempts: 0, outages: 0, isSuperseded: false };
    const group: EventGroup = {
      vendor: this.vendor,
      ownerId,
      objectType: first.object_type,
      objectId: first.object_id,
      events: ordered.map(waitingEvent),
      latest: waitingEvent(latest),
      claimedAt: first.claimed_at,
      origin: { requestId: latest.request_id, traceparent: latest.traceparent },
    };
    const attempts = Math.max(...rows.map((row) => row.attempts));
    const outages = Math.max(...rows.map((row) => row.outages));
    const isSuperseded = first.deleted_at !== null && latest.event_time <= first.deleted_at;
    return { ownerId, fence, group, attempts, outages, isSuperseded };
  }

  /** Runs `work` and schedules the owner's next turn in one transaction; does neither if the lease was lost. */
  private release<T>(
    { ownerId, fence }: OwnerClaim,
    notBeforeMs: number,
    work: (sql: Sql) => Promise<T>,
  ): Promise<T | undefined> {
    return this.database.transaction(async (sql) => {
      const held = await sql.query(holdOwner, [this.vendor, ownerId, fence]);
      if (!this.rows.accepted(held)) return undefined;
      const done = await work(sql);
      await sql.query(releaseOwner, [this.vendor, ownerId, notBeforeMs]);
      return done;
    });
  }
}

/** Deletes events of all vendors that were handled or set aside more than `keptMs` ago, in batches; returns their number. */
export function purgeEvents(database: Database, keptMs: number): Promise<number> {
  return deletePast(database, purgeDone, keptMs);
}

function idsOf({ group }: OwnerClaim): string[] {
  return (group?.events ?? []).map(({ id }) => id);
}

function waitingEvent({ id, aspect, event_time: eventTime, attempts }: EventRow): WaitingEvent {
  return { id, aspect, eventTime, attempts };
}

function byTime(a: EventRow, b: EventRow): number {
  return (
    a.event_time.getTime() - b.event_time.getTime() ||
    ORDER_AT_ONE_TIME[a.aspect] - ORDER_AT_ONE_TIME[b.aspect] ||
    Number(BigInt(a.id) - BigInt(b.id))
  );
}
