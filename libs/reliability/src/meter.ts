import { type Head } from './exchange.js';

/** What governs the calls to a vendor. Each HTTP request, the second try included, is one admission. */
export interface Meter<No extends Refusal> {
  admit(signal?: AbortSignal): Promise<Leave | No>;
}

/** A meter's own way to say no; the caller gets it as it is. */
export interface Refusal {
  readonly kind: 'refused' | 'unavailable' | 'unwanted';
}

/** Leave to make one request. It is settled or given back, one of them and once. */
export interface Leave {
  readonly kind: 'granted';
  /** Asked just before the request is written; one that has grown stale is given back and taken anew. */
  isFresh(): boolean;
  /** The request was answered so, or (undefined) may have arrived without an answer. */
  settle(answer: Head | undefined): Promise<void>;
  /** The request was not written. */
  giveBack(): Promise<void>;
}
