import { z } from 'zod';
import { type Activity } from '#training-world';
import { type Vendor } from './vendors.js';

/** An id is a string; a small id may also be a number. */
export const Id = z.union(
  [z.string().min(1).max(64), z.int().positive().transform(String)],
  'expected an id',
);

/** An id that the wire carries as a bare number. It has at most 64 bit, so at most 19 digits. */
export const Digits = z.union([
  z.string().regex(/^[1-9]\d{0,18}$/, 'expected up to 19 digits'),
  z.int().positive().transform(String),
]);

interface NewAthleteOrder {
  /** Activities; for a vendor without activities, nights. */
  readonly count: number;
  /** Nights of a vendor that also has activities. */
  readonly nights: number;
  readonly manualShare: number;
  readonly privateShare: number;
  readonly privateNewest: number;
  readonly seed?: number;
  readonly athleteId?: string;
  readonly firstActivityId?: string;
  /** The end of Strava's history. Other vendors' histories end with the day before today. */
  readonly endsAtMs?: number;
  readonly scopes?: readonly string[];
}

export type ControlAnswer = Record<string, unknown>;

/** The records of an athlete that the vendor has now, for a test that compares them with ours. */
export interface AthleteRecords {
  readonly activities: ReadonlyArray<{
    readonly id: string;
    readonly name: string;
    readonly private: boolean;
    readonly has_streams: boolean;
  }>;
  readonly nights: ReadonlyArray<{
    readonly id: string;
    readonly date: string;
    readonly duration_minutes: number;
    readonly score: number | null;
    /** False for naps, and for sleeps without a score of their own. */
    readonly counts: boolean;
  }>;
}

/**
 * The operations that a vendor offers to the control routes. Without a handler the route answers 400 "not supported".
 * If a handler returns undefined, the id is unknown and the route answers 404. A handler gets parsed JSON and validates it.
 * A `ZodError` from a handler becomes a 400 with the name of the field.
 */
export interface VendorControls {
  /** Scopes that `POST /__sim/athletes` may grant. */
  readonly scopes: readonly string[];
  createAthlete(order: NewAthleteOrder): { id: string; code: string };
  /** Ends every grant, and sends an event if the vendor has one for this. Returns false for an unknown athlete. */
  deauthorize(athleteId: string): boolean;
  /** Ends every access token before its time. Returns false if the athlete has no grant. */
  expireTokens(athleteId: string): boolean;
  /** The page shows `connected` (the athlete has a grant) and `records` (the number of records at the vendor). */
  describe(athleteId: string): { connected: boolean; records: number };
  /** Polar's are those since the registration, because it shows no others. Undefined: the athlete is unknown. */
  recordsOf(athleteId: string): AthleteRecords | undefined;

  createActivity?(athleteId: string, body: unknown): ControlAnswer | undefined;
  updateActivity?(id: string, body: unknown): ControlAnswer | undefined;
  deleteActivity?(id: string): boolean;
  activityTruth?(id: string): ControlAnswer | undefined;
  /** The planned workout behind an activity, so that another vendor can record the same one. */
  workoutOf?(id: string): Activity | undefined;

  createSleep?(athleteId: string, body: unknown): ControlAnswer | undefined;
  updateSleep?(id: string, body: unknown): ControlAnswer | undefined;
  deleteSleep?(id: string): boolean;

  /** Sets the URL for events without a challenge. A vendor without a subscription API offers this as well. */
  setWebhookUrl?(url: string): void;
}

/** The control operations of each vendor. */
export class ControlRegistry {
  private readonly vendors = new Map<Vendor, VendorControls>();

  register(vendor: Vendor, controls: VendorControls): void {
    this.vendors.set(vendor, controls);
  }

  of(vendor: Vendor): VendorControls | undefined {
    return this.vendors.get(vendor);
  }

  all(): [Vendor, VendorControls][] {
    return [...this.vendors];
  }

  /** Returns the vendors whose controls have this operation. */
  with(operation: keyof VendorControls): Vendor[] {
    return this.all().flatMap(([vendor, controls]) => (controls[operation] ? vendor : []));
  }
}
