import { setTimeout as pause } from 'node:timers/promises';
import { type CallClass } from './policy.js';
import { type Window } from './windows.js';

export interface VendorCall {
  readonly class: CallClass;
  readonly endpoint: string;
  readonly userId: string | null;
  /** The call takes one of the vendor's slots, which limit concurrent calls. */
  readonly holdsSlot?: boolean;
  /** True: while Redis is away the call gets no permit, even if it is live. */
  readonly needsCounters?: boolean;
  /**
   * True: near a boundary the call is charged to the windows on both sides instead of being delayed. For the few calls that a person
   * waits for and that cannot be repeated. While Redis is away, such a call is delayed as well.
   */
  readonly straddles?: boolean;
}

/** A call charged to the counters in Redis and not yet recorded in the ledger. */
export interface Charge {
  readonly id: string;
  readonly call: VendorCall;
  readonly keys: readonly string[];
  /** The windows that the call was charged to, one per counter. Near a boundary, those that end first. */
  readonly windows: readonly Window[];
  /** The windows of the ledger's row. Near a boundary, those that end last: the others are almost over. */
  readonly recordedIn: readonly Window[];
  /** The call was charged to both sides of a boundary, so the counts of its answer belong to an unknown window. */
  readonly isNearBoundary: boolean;
  readonly state: string;
  readonly nowMs: number;
  /** By this process's clock, before the charge: Redis' reply may be slow. */
  readonly askedAtMs: number;
}

/** The right to make one HTTP request now. The permit is settled after the answer, or given back if nothing was sent. */
export interface Permit extends Charge {
  readonly ledgerId: string;
}

export interface NotNow {
  readonly kind: 'notNow';
  /** The full or closed counter (`read 15min`, `read day`, …), or `boundary` or `slot`. */
  readonly window: string;
  readonly retryAfterMs: number;
}

/** A vendor's answer, as far as it concerns the limits. */
interface AnswerHead {
  readonly status: number;
  readonly headers: Readonly<Record<string, string>>;
}

/** A permit with the methods that end it, for a caller who does not know the budget. The caller calls `settle` or `giveBack` exactly once. */
export interface GrantedPermit {
  readonly kind: 'granted';
  readonly permit: Permit;
  /** The window that a 429 has closed. `settle` sets it. */
  closedWindow?: NotNow;
  /** False if the request might reach the vendor in another window than the permit was charged to. */
  isFresh(): boolean;
  /** Ends the permit of a request that was written. `answer` is undefined if no answer came; the request may have arrived. */
  settle(answer: AnswerHead | undefined): Promise<void>;
  /** Ends the permit of a request that was not written. */
  giveBack(): Promise<void>;
}

export type PermitOutcome =
  | GrantedPermit
  | NotNow
  /** Neither Redis nor the ledger can say what has been spent. */
  | { readonly kind: 'unavailable' };

export interface PermitWait {
  /** Real time, not scaled: the caller waits this long at most. */
  readonly waitMs: number;
  readonly signal?: AbortSignal;
}

/** Repeats the request after `boundary` and `slot`, since both pass soon. Never waits for a full or closed window. */
export async function waitForPermit(
  request: () => Promise<PermitOutcome>,
  { waitMs, signal }: PermitWait,
): Promise<PermitOutcome> {
  const untilMs = performance.now() + waitMs;
  for (;;) {
    signal?.throwIfAborted();
    const outcome = await request();
    const pauseMs = pauseAfter(outcome);
    if (pauseMs === undefined || performance.now() + pauseMs > untilMs) return outcome;
    await pause(pauseMs, undefined, { signal });
  }
}

function pauseAfter(outcome: PermitOutcome): number | undefined {
  if (outcome.kind !== 'notNow') return undefined;
  if (outcome.window === 'boundary') return outcome.retryAfterMs;
  // Jitter: callers that wait for a slot must not all return at once.
  if (outcome.window === 'slot') return outcome.retryAfterMs * (0.5 + Math.random());
  return undefined;
}
