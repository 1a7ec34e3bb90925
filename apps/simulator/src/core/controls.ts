import { type Vendor } from './vendors.js';

export interface NewAthleteOrder {
  /** Activities for Strava, nights for Oura and WHOOP. */
  readonly count: number;
  readonly manualShare: number;
  readonly seed?: number;
  readonly athleteId?: string;
  readonly firstActivityId?: string;
  readonly scopes?: readonly string[];
}

export type ControlAnswer = Record<string, unknown>;

/**
 * What a vendor lets the control routes do to it. A handler it lacks answers 400 "not supported"; one that answers
 * undefined means "no such id" and becomes 404. Bodies arrive as parsed JSON and are the vendor's to validate:
 * a thrown `ZodError` becomes 400 with the field's name.
 */
export interface VendorControls {
  /** What a new athlete may be said to have consented to. */
  readonly scopes: readonly string[];
  createAthlete(order: NewAthleteOrder): { id: string; code: string };
  /** Ends every grant and sends what the vendor sends; false for an unknown athlete. */
  deauthorize(athleteId: string): boolean;
  /** For the page: living grant or not, and how many records the vendor holds. */
  describe(athleteId: string): { connected: boolean; records: number };

  createActivity?(athleteId: string, body: unknown): ControlAnswer | undefined;
  updateActivity?(id: string, body: unknown): ControlAnswer | undefined;
  deleteActivity?(id: string): boolean;
  activityTruth?(id: string): ControlAnswer | undefined;

  createSleep?(athleteId: string, body: unknown): ControlAnswer | undefined;
  updateSleep?(id: string, body: unknown): ControlAnswer | undefined;
  deleteSleep?(id: string): boolean;

  /** Where events go, for vendors without a subscription API (or to bypass it). */
  setWebhookUrl?(url: string): void;
}

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
}
