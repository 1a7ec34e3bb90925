import { type CallClass } from '#rate-limit';

export interface Wanted {
  readonly athleteId: string;
  readonly externalActivityId: string;
  readonly class: CallClass;
  /** How long the call may wait in place for a slot or through a boundary. */
  readonly waitMs: number;
  readonly signal?: AbortSignal;
  /** Asked once the call may be made, before it is sent; false: it is not wanted any more. */
  claim(): Promise<boolean>;
}

/** How a fetch ended. Whether the vendor was asked at all is known by `claim`. */
export type Fetched =
  /** As the vendor sent them, channel by channel. */
  | { readonly kind: 'answered'; readonly channels: Readonly<Record<string, unknown>> }
  /** `claim` answered no. */
  | { readonly kind: 'unclaimed' }
  /** It has none. */
  | { readonly kind: 'none' }
  /** Later: by our budget or by the vendor's own word, which says until when. */
  | { readonly kind: 'later'; readonly reason: string; readonly retryAfterMs?: number }
  /** The athlete has to connect again first. */
  | { readonly kind: 'disconnected'; readonly reason: string }
  /** Nobody can say what has been spent, so nothing was sent. */
  | { readonly kind: 'unmetered' }
  /** `isOutage`: by the vendor's own trouble, as far as anybody can see. */
  | { readonly kind: 'failed'; readonly reason: string; readonly isOutage?: boolean };

/** Where streams come from; a vendor's library satisfies it and an app binds it. */
export interface StreamSource {
  readonly name: string;
  /** No call lasts longer. */
  readonly longestCallMs: number;
  fetch(wanted: Wanted): Promise<Fetched>;
  /** Calls left in the running window; null where nobody can say. */
  budgetRemaining(): Promise<number | null>;
}

export const STREAM_SOURCE = Symbol('stream source');
