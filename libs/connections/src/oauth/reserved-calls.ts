import { type GrantedPermit, type PermitOutcome, type PermitWait, type VendorCall } from '#rate-limit';
import { type CallBudget } from '#vendors';

type NoPermit = Exclude<PermitOutcome, { kind: 'granted' }>;

/**
 * The permits for the charged calls of one consent. They are taken before its code is exchanged, so that a full window cannot end a consent
 * whose code is used up. A further call takes its permit from the budget. The holder calls `release` in any case.
 */
export class ReservedCalls implements CallBudget {
  private readonly permits: GrantedPermit[] = [];

  constructor(private readonly budget: CallBudget) {}

  /** Takes `count` permits within `waitMs`, or none. Returns why there is none. */
  async take(call: VendorCall, count: number, { waitMs, signal }: PermitWait): Promise<NoPermit | undefined> {
    const endsAt = performance.now() + waitMs;
    while (this.permits.length < count) {
      const leftMs = Math.max(0, endsAt - performance.now());
      const outcome = await this.budget.waitForPermit(call, { waitMs: leftMs, signal });
      if (outcome.kind !== 'granted') {
        await this.release();
        return outcome;
      }
      this.permits.push(outcome);
    }
    return undefined;
  }

  /** Gives back the permits that were not used. */
  async release(): Promise<void> {
    for (const permit of this.permits.splice(0)) await permit.giveBack();
  }

  async waitForPermit(call: VendorCall, wait: PermitWait): Promise<PermitOutcome> {
    return this.permits.pop() ?? this.budget.waitForPermit(call, wait);
  }
}
