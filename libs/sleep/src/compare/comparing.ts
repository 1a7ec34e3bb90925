import { Inject, Injectable, type OnApplicationBootstrap } from '@nestjs/common';
import { type Asker, BudgetSpent, CallRefused, NeedsReauth, NotConnected } from '#connections';
import {
  type Config,
  CONFIG,
  EventBus,
  LOGGER,
  type Logger,
  MessageMalformed,
  Sweeps,
  TIME_SCALE,
  type TimeScale,
} from '#platform';
import { NATIVE_VENDORS, type NativeVendor, vendorEvents } from '../contract/vendor-event.js';
import { NativeLists } from '../native/native-lists.js';
import { NativeNights, type Payload } from '../native/native-nights.js';
import { type Comparison, ComparisonStore, type Held } from './comparison-store.js';
import { comparedRecords } from './comparison-metrics.js';

const DAY_MS = 86_400_000;
const LOOK_FOR_DUE_MS = 60_000;
const EVERY_MS = DAY_MS;
// Mostly one page of each list: WHOOP's has 25 records, and asks for a day and a half on both sides.
const SLICE_DAYS = 20;
// Longer than the calls of one slice take; one that failed is left alone for as long.
const LEASE_MS = 120_000;
const SHORTEST_LEASE_MS = 15_000;
const FAILED_MS = 15 * 60_000;

/**
 * Compares what we have with the vendors' lists: once a person has connected for what was before, and then every day, since
 * events may be lost. What is new goes the way of all nights; what the list lacks is asked for by its id, as if an event
 * had come. Slices are committed one by one, so that whoever goes on knows where.
 */
@Injectable()
export class Comparing implements OnApplicationBootstrap {
  constructor(
    private readonly lists: NativeLists,
    private readonly nights: NativeNights,
    private readonly store: ComparisonStore,
    private readonly bus: EventBus,
    private readonly sweeps: Sweeps,
    @Inject(CONFIG) private readonly config: Pick<Config, NativeVendor | 'sleep'>,
    @Inject(TIME_SCALE) private readonly scale: TimeScale,
    @Inject(LOGGER) private readonly logger: Logger,
  ) {}

  onApplicationBootstrap(): void {
    for (const vendor of NATIVE_VENDORS)
      if (this.config[vendor].client)
        this.sweeps.every(`sleep of ${vendor}`, LOOK_FOR_DUE_MS, () => this.runOnce(vendor));
  }

  /** Everybody who is due, one after the other, until the vendor has no time for us. */
  async runOnce(vendor: NativeVendor): Promise<void> {
    for (;;) {
      const { leaseMs } = this;
      const { historyDays } = this.config.sleep;
      const due = await this.store.claim(vendor, { everyMs: this.everyMs, leaseMs, historyDays });
      if (!due) return;
      try {
        await this.compare(vendor, due);
      } catch (err) {
        if (err instanceof BudgetSpent) return this.store.postpone(due, err.retryAfterMs);
        this.logger.warn({ err, vendor }, 'sleep not compared');
        // Their membership or their consent may have ended: that is nobody else's trouble, and not over in a minute.
        if (err instanceof CallRefused || err instanceof NeedsReauth || err instanceof NotConnected) {
          await this.store.postpone(due, this.everyMs);
          continue;
        }
        // Others may fail likewise; where they do not, they must not wait behind this one again.
        return this.store.postpone(due, this.scale.wait(FAILED_MS));
      }
    }
  }

  private async compare(vendor: NativeVendor, due: Comparison): Promise<void> {
    for (let at = due; ;) {
      const from = laterOf(at.since, daysBefore(at.until, SLICE_DAYS - 1));
      await this.compareSlice(vendor, at, from);
      if (from === at.since) {
        await this.store.finish(at);
        this.logger.info({ vendor, is_history: at.is_history, since: at.since }, 'sleep compared');
        return;
      }
      const until = daysBefore(from, 1);
      if (!(await this.store.moveOn(at, until, this.leaseMs))) return;
      at = { ...at, until };
    }
  }

  private async compareSlice(vendor: NativeVendor, at: Comparison, from: string): Promise<void> {
    const { athlete_id: athleteId, subject: userId, until, is_history } = at;
    const asker: Asker = { athleteId, class: is_history ? 'import' : 'backfill' };
    const listed = this.readable(vendor, await this.lists.of(vendor, asker, userId, from, until));
    const ids = listed.payloads.map(idOf);
    const held = await this.store.held(userId, vendor, ids, from, until);
    const known = new Map(held.map((record) => [record.record_id, record]));
    const fresh = listed.payloads.filter(
      (payload) => isOfDates(payload, from, until) && isNews(payload, known.get(idOf(payload))),
    );
    await this.takeEach(vendor, fresh, at);
    // An unreadable one may be any of them.
    const missing = listed.isWhole ? lackedBy(new Set(ids), held) : [];
    for (const { record_id } of missing) await this.ask(vendor, at, record_id);
    comparedRecords.inc({ vendor, result: is_history ? 'history' : 'found' }, fresh.length);
    comparedRecords.inc({ vendor, result: 'lacking' }, missing.length);
  }

  /** One odd document must not keep a whole history away. */
  private readable(vendor: NativeVendor, list: ReadonlyArray<() => Payload>) {
    const payloads: Payload[] = [];
    for (const read of list)
      try {
        payloads.push(read());
      } catch (err) {
        comparedRecords.inc({ vendor, result: 'unreadable' });
        this.logger.warn({ err, vendor }, 'a sleep of a list cannot be read');
      }
    return { payloads, isWhole: payloads.length === list.length };
  }

  /** One that is out of all bounds is left out likewise. */
  private async takeEach(vendor: NativeVendor, payloads: readonly Payload[], at: Comparison): Promise<void> {
    const take = async (payload: Payload) => {
      try {
        await this.nights.take([payload], at.claimed_at, at.connected_at);
      } catch (err) {
        if (!(err instanceof MessageMalformed)) throw err;
        comparedRecords.inc({ vendor, result: 'unreadable' });
        this.logger.warn({ err, vendor }, 'a sleep of a list is out of bounds');
      }
    };
    await Promise.all(payloads.map(take));
  }

  private async ask(vendor: NativeVendor, at: Comparison, objectId: string): Promise<void> {
    const { vendor_athlete_id: userId, claimed_at: claimedAt, begun_at: begunAt } = at;
    const event = { vendor, userId, objectId, about: 'sleep', isDeleted: false } as const;
    const subject = vendorEvents[vendor];
    const id = `${subject.name}:compared:${userId}:${objectId}:${begunAt}`;
    await this.bus.publish(subject, { ...event, at: claimedAt.toISOString() }, id);
  }

  private get everyMs(): number {
    return this.scale.wait(EVERY_MS);
  }

  private get leaseMs(): number {
    return Math.max(this.scale.guard(LEASE_MS), SHORTEST_LEASE_MS);
  }
}

const idOf = ({ record }: Payload) => record?.id ?? '';
const isOfDates = ({ date }: Payload, from: string, to: string) => date >= from && date <= to;
const laterOf = (one: string, other: string) => (one > other ? one : other);

function daysBefore(date: string, days: number): string {
  return new Date(Date.parse(date) - days * DAY_MS).toISOString().slice(0, 10);
}

/** As the upsert's guard decides it; what we hold is not told again. */
function isNews({ capturedAt = '', record }: Payload, held: Held | undefined): boolean {
  if (!held || !record) return true;
  if (record.revision !== held.revision) return record.revision > held.revision;
  return Date.parse(capturedAt) > held.captured_at.getTime();
}

function lackedBy(listed: ReadonlySet<string>, held: readonly Held[]): Held[] {
  return held.filter(
    ({ record_id, state, is_of_dates }) => is_of_dates && state !== 'deleted' && !listed.has(record_id),
  );
}
