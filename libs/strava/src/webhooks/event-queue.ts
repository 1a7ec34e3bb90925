import { randomUUID } from 'node:crypto';
import { type Database, loadSql, type TimeScale } from '#platform';
import { type Aspect } from './event.js';
import { type Matter, type Outcome, type WaitingEvent } from './event-effects.js';

const claimOwner = loadSql(import.meta.url, './sql/claim-owner.sql');
const beginWork = loadSql(import.meta.url, './sql/begin-work.sql');
const finishWork = loadSql(import.meta.url, './sql/finish-work.sql');
const postponeWork = loadSql(import.meta.url, './sql/postpone-work.sql');

const VENDOR = 'strava';
const LEASE_MS = 30_000;
// Longer than one call to Strava may take.
const SHORTEST_LEASE_MS = 10_000;
// Longer than Strava sends an event again, and long enough to look into one that was set aside.
const KEPT_MS = 7 * 86_400_000;

export interface Claim {
  readonly lease: string;
  readonly matter: Matter;
  /** Of the event that has been tried most. */
  readonly attempts: number;
}

export interface Postponement {
  readonly afterMs: number;
  readonly error: string;
  /** Set aside what has been tried so often; without it nothing is. */
  readonly mostAttempts?: number;
  /** False: it was not the event's turn yet, and this attempt does not count. */
  readonly counts: boolean;
}

interface EventRow {
  readonly id: string;
  readonly aspect: Aspect;
  readonly event_time: Date;
  readonly attempts: number;
  readonly raw: string;
  readonly deleted_at: Date | null;
}

/** The events that wait, for any number of workers: an owner's are with one of them at a time. */
export class EventQueue {
  readonly leaseMs: number;

  constructor(
    private readonly database: Database,
    private readonly scale: TimeScale,
  ) {
    this.leaseMs = Math.max(SHORTEST_LEASE_MS, scale.guard(LEASE_MS));
  }

  /** What is due and nobody has; nothing where there is none. */
  async claim(): Promise<Claim | undefined> {
    const lease = randomUUID();
    const { rows } = await this.database.query<{ owner_id: string; object_type: string; object_id: string }>(
      claimOwner,
      [VENDOR, lease, this.leaseMs],
    );
    const [due] = rows;
    if (!due) return undefined;
    const about = [VENDOR, due.owner_id, due.object_type, due.object_id];
    const waiting = await this.database.query<EventRow>(beginWork, about);
    const matter = {
      ownerId: due.owner_id,
      objectType: due.object_type,
      objectId: due.object_id,
      events: waiting.rows.map(waitingEvent),
      deletedAt: waiting.rows[0]?.deleted_at ?? undefined,
    };
    return { lease, matter, attempts: Math.max(0, ...waiting.rows.map(({ attempts }) => attempts)) };
  }

  async renew({ lease, matter }: Claim): Promise<void> {
    await this.database.query(
      `update webhook_owner set leased_until = clock_timestamp() + $4::float8 * interval '1 millisecond'
       where vendor = $1 and owner_id = $2 and lease = $3`,
      [VENDOR, matter.ownerId, lease, this.leaseMs],
    );
  }

  async finish(claim: Claim, outcome: Outcome, note?: string): Promise<void> {
    await this.database.query(finishWork, [...keysOf(claim), outcome, note ?? null]);
  }

  /** Answers how many were set aside. */
  async postpone(claim: Claim, { afterMs, error, mostAttempts, counts }: Postponement): Promise<number> {
    const { rows } = await this.database.query<{ outcome: string | null }>(postponeWork, [
      ...keysOf(claim),
      afterMs,
      mostAttempts ?? null,
      counts ? 0 : 1,
      error,
    ]);
    return rows.filter(({ outcome }) => outcome === 'set_aside').length;
  }

  /** What was done long ago; answers how many. */
  async purge(): Promise<number> {
    const statement = `delete from webhook_event
      where vendor = $1 and processed_at < clock_timestamp() - $2::float8 * interval '1 millisecond'`;
    const { count } = await this.database.query(statement, [VENDOR, this.scale.wait(KEPT_MS)]);
    return count;
  }
}

function keysOf({ lease, matter }: Claim): unknown[] {
  return [VENDOR, matter.ownerId, lease, matter.events.map(({ id }) => id)];
}

function waitingEvent({ id, aspect, event_time: eventTime, raw }: EventRow): WaitingEvent {
  return { id, aspect, eventTime, raw };
}
