import { type CallClass } from './policy.js';

export interface Call {
  readonly class: CallClass;
  readonly endpoint: string;
  readonly userId: string | null;
  /** A slot limits how many such calls are under way at once. */
  readonly holdsSlot?: boolean;
  /** It can wait for Redis: the ledger's own count is not enough for it, however urgent it is. */
  readonly needsCounters?: boolean;
}

/** What the counters gave: to be recorded, and then used or given back. */
export interface Grant {
  readonly id: string;
  readonly call: Call;
  readonly keys: readonly string[];
  readonly state: string;
  readonly nowMs: number;
  readonly grantedAtMs: number;
}

/** Leave to make one HTTP request, now. */
export interface Permit extends Grant {
  readonly ledgerId: string;
}

export interface Refused {
  readonly kind: 'refused';
  /** `read 15min`, `read day`, … or why else not now: `boundary`, `slot`. */
  readonly window: string;
  readonly retryAfterMs: number;
}

export type Acquisition =
  | { readonly kind: 'granted'; readonly permit: Permit }
  | Refused
  /** Nobody can say what has been spent: rows stay as they are, for later. */
  | { readonly kind: 'unavailable' };
