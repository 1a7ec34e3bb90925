import { type Acquisition, type Call, type Permit, type Refused, type Usage } from '#rate-limit';
import { type Head, type Leave, type Meter } from '#reliability';

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

/** What an answer's headers say of the vendor's limits. */
export interface RateWord {
  readonly usage: readonly Usage[];
  readonly retryAfterSeconds: number;
}

export type ReadRates = (headers: Readonly<Record<string, string>>) => RateWord;

export interface Metering {
  readonly readRates: ReadRates;
  readonly waitMs: number;
  /** The last word before a request, when there is leave to make it. */
  readonly claim?: () => Promise<boolean>;
}

type No = Exclude<Acquisition, { kind: 'granted' }> | { readonly kind: 'unwanted' };

/** A vendor's budget as the meter of one call of an athlete. */
export class BudgetMeter implements Meter<No> {
  /** What the vendor's own 429 to this call has closed. */
  closed: Refused | undefined;

  constructor(
    private readonly budget: CallBudget,
    private readonly call: Call,
    private readonly metering: Metering,
  ) {}

  async admit(signal?: AbortSignal): Promise<Leave | No> {
    const { waitMs } = this.metering;
    const acquisition = await this.budget.acquirePatiently(this.call, { waitMs, signal });
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
    const { claim } = this.metering;
    if (!claim) return true;
    let isClaimed = false;
    try {
      isClaimed = await claim();
    } finally {
      if (!isClaimed) await this.budget.giveBack(permit);
    }
    return isClaimed;
  }

  private async settle(permit: Permit, answer: Head | undefined): Promise<void> {
    if (!answer) return void (await this.budget.settle(permit, 0, []));
    const { usage, retryAfterSeconds } = this.metering.readRates(answer.headers);
    this.closed = await this.budget.settle(permit, answer.status, usage, retryAfterSeconds);
  }
}

/** `Retry-After` in seconds, 0 where there is none. */
export function retryAfterOf(headers: Readonly<Record<string, string>>): number {
  return Number(headers['retry-after']) || 0;
}

/** Where a vendor does not say how much is spent. */
export const retryAfterAlone: ReadRates = (headers) => ({
  usage: [],
  retryAfterSeconds: retryAfterOf(headers),
});
