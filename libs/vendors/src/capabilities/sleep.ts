import { type CallOutcome } from '../call/call-outcome.js';
import { type CallContext } from '../call/vendor-calls.js';

/** One sleep session as a vendor has it. */
export interface SleepRecord {
  readonly id: string;
  /** The higher revision is newer; 0 from a vendor without revisions. Between equal revisions `updatedAt` decides. */
  readonly revision: number;
  readonly nap: boolean;
  /** `pending`: the vendor has not scored it yet and may never do so. `deleted`: the athlete removed it. */
  readonly state: 'scored' | 'pending' | 'deleted';
  /** The local date of waking. */
  readonly date: string;
  readonly durationMinutes: number;
  /** Null: the vendor dates no changes. Then the time of the request counts, and a record is newer only if its content differs. */
  readonly updatedAt: Date | null;
  readonly qualityScore: number | null;
  /** The vendor's JSON. */
  readonly document: Readonly<Record<string, unknown>>;
}

/** The object that an event of a vendor is about. `score`: the score of a day, and with it all sleep records of that day. */
export interface SleepObject {
  readonly about: 'sleep' | 'score';
  readonly id: string;
}

/** The records of some dates. */
export interface SleepList {
  readonly records: readonly SleepRecord[];
  /** The problems of the documents that cannot be parsed, one text each. */
  readonly unreadable: readonly string[];
}

/** A vendor's sleep records. */
export interface SleepSource {
  /**
   * The vendor has the records of this many last local dates, but none that it got before the athlete connected. An earlier record is answered
   * with 404 although nobody deleted it. Absent: the vendor has all records.
   */
  readonly listedDays?: number;
  /** The date is the record's id: a night may come under the id of a deleted one, hours after its event. Absent: ids are not used again. */
  readonly namedBy?: 'date';
  /** `gone`: the vendor does not have the sleep record. A deleted score has no records. */
  recordsOf(context: CallContext, object: SleepObject): Promise<CallOutcome<readonly SleepRecord[]>>;
  /** All records of these local dates, both included, and perhaps of neighbouring dates. */
  list(context: CallContext, from: string, to: string): Promise<CallOutcome<SleepList>>;
}
