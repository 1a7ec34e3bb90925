import { type VendorBudget } from './vendor-budget.js';
import { type VendorShare } from './vendor-share.js';

/** The budgets of all vendors, and their shares, by the vendor's id. */
export class Budgets {
  private readonly budgets: ReadonlyMap<string, VendorBudget>;
  private readonly shares: ReadonlyMap<string, VendorShare>;

  constructor(budgets: readonly VendorBudget[], shares: readonly VendorShare[] = []) {
    this.budgets = new Map(budgets.map((budget) => [budget.policy.vendor, budget]));
    this.shares = new Map(shares.map((share) => [nameOfShare(share.vendor, share.purpose), share]));
  }

  all(): VendorBudget[] {
    return [...this.budgets.values()];
  }

  of(vendor: string): VendorBudget {
    const budget = this.budgets.get(vendor);
    if (!budget) throw new Error(`${vendor} has no budget`);
    return budget;
  }

  /** The part of the vendor's day that its policy gives to this purpose. */
  share(vendor: string, purpose: string): VendorShare {
    const share = this.shares.get(nameOfShare(vendor, purpose));
    if (!share) throw new Error(`${vendor} has no share for ${purpose}`);
    return share;
  }
}

const nameOfShare = (vendor: string, purpose: string) => `${vendor} ${purpose}`;
