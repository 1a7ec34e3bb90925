import { type AnswerHead } from './exchange.js';

/** Gives permits for the requests of one call to a vendor. Each HTTP request, the second try included, takes one permit. */
export interface Meter<No extends NoPermit> {
  permit(signal?: AbortSignal): Promise<CallPermit | No>;
}

/** A meter's outcome without a permit. `OutboundCaller.call` returns this outcome unchanged. */
export interface NoPermit {
  readonly kind: 'notNow' | 'unavailable' | 'unclaimed' | 'disconnected';
}

/** The right to make one request. It ends by exactly one call of `settle` or `giveBack`. */
export interface CallPermit {
  readonly kind: 'granted';
  /** Checked just before the request is written. If false, the caller gives this permit back and requests another. */
  isFresh(): boolean;
  /** Ends the permit of a request that was written. `answer` is undefined if no answer came; the request may have arrived. */
  settle(answer: AnswerHead | undefined): Promise<void>;
  /** Ends the permit of a request that was not written. */
  giveBack(): Promise<void>;
}
