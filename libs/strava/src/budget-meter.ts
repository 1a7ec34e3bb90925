import { type Acquisition, type Call, type Permit, type Refused, type Usage } from '#rate-limit';
import { type Admission, type Head, type Meter } from '#reliability';
import { usageOf } from './usage.js';

/** What a call needs of the `VendorBudget`. */
export interface CallBudget {
  /** Waits in place through a boundary or for a slot, never for a full window. */
  acquirePatiently(call: Call, patience: { waitMs: number; signal?: AbortSignal }): Promise<Acquisition>;
  isFresh(permit: Permit): boolean;
  /** Answers what a 429 has closed. */
  settle(
    permit: Permit,
    status: number,
    usage: readonly Usage[],
    retryAfterSeconds?: number,
  ): Promise<Refused | undefined>;
  giveBack(permit: Permit): Promise<void>;
}

type No = Exclude<Acquisition, { kind: 'granted' }> | { readonly kind: 'unwanted' };

/** The budget as the meter of one call of an athlete. */
export class BudgetMeter implements Meter<No> {
  /** What Strava's own 429 to this call has closed. */
  closed: Refused | undefined;

  constructor(
    private readonly budget: CallBudget,
    private readonly call: Call,
    private readonly waitMs: number,
    /** The last word before a request, when there is leave to make it. */
    private readonly claim: () => Promise<boolean> = () => Promise.resolve(true),
  ) {}

  async admit(signal?: AbortSignal): Promise<Admission | No> {
    const acquisition = await this.acquire(signal);
    if (acquisition.kind !== 'granted') return acquisition;
    const { permit } = acquisition;
    if (!(await this.isClaimed(permit))) return { kind: 'unwanted' };
    return {
      kind: 'granted',
      isFresh: () => this.budget.isFresh(permit),
      settle: (answer) => this.settle(permit, answer),
      giveBack: () => this.budget.giveBack(permit),
    };
  }

  private async isClaimed(permit: Permit): Promise<boolean> {
    let isClaimed = false;
    try {
      isClaimed = await this.claim();
    } finally {
      if (!isClaimed) await this.budget.giveBack(permit);
    }
    return isClaimed;
  }

  private acquire(signal: AbortSignal | undefined): Promise<Acquisition> {
    return this.budget.acquirePatiently(this.call, { waitMs: this.waitMs, signal });
  }

  private async settle(permit: Permit, answer: Head | undefined): Promise<void> {
    if (!answer) return void (await this.budget.settle(permit, 0, []));
    const { status, headers } = answer;
    const retryAfterSeconds = Number(headers['retry-after']) || 0;
    this.closed = await this.budget.settle(permit, status, usageOf(headers), retryAfterSeconds);
  }
}
