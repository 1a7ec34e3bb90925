/** A vendor call without a value. `reason` is a sentence for logs, rows and athletes; it never holds a token or personal data. */
export type CallFailure =
  /** The vendor answered 404: it has no such object, or hides it from this app. */
  | { readonly kind: 'gone'; readonly reason: string }
  /** An expected refusal that costs no attempt. The caller retries after `retryAfterMs`. */
  | {
      readonly kind: 'notNow';
      readonly because: NotNowCause;
      readonly retryAfterMs: number;
      readonly reason: string;
    }
  /** The vendor ended the grant, or the athlete is not connected: nothing can be called before the athlete connects again. */
  | { readonly kind: 'revoked'; readonly reason: string }
  /** The vendor refuses this request. A retry gets the same answer. */
  | { readonly kind: 'refused'; readonly status: number; readonly reason: string }
  /**
   * `outage`: no answer, a 408 or a 5xx, also to the second request, or a 401 to a token that the vendor has just issued. `malformed`: an
   * answer that cannot be parsed; a retry is likely to fail as well.
   */
  | { readonly kind: 'broken'; readonly because: 'outage' | 'malformed'; readonly reason: string };

type NotNowCause =
  /** No permit is left in a window, or the vendor answered 429. */
  | 'limit'
  /** Neither Redis nor the ledger can say how many calls are left, so nothing was sent. */
  | 'budgetUnavailable'
  /** `claim` returned false: the permit was given back and nothing was sent. */
  | 'unclaimed'
  /** The token has expired, and the vendor's token endpoint does not answer. */
  | 'tokenUnavailable'
  /** The vendor has switched our app off for all athletes. Its owner has to act. */
  | 'appInactive';

export type CallOutcome<T> = { readonly kind: 'ok'; readonly value: T } | CallFailure;

export function ok<T>(value: T): CallOutcome<T> {
  return { kind: 'ok', value };
}

/** A scope is missing, or the vendor hides the object from this athlete. Other objects of the athlete may still be readable. */
export function isForbidden(failure: CallFailure): boolean {
  return failure.kind === 'refused' && (failure.status === 401 || failure.status === 403);
}

/** The codes of docs/errors.md, for rows and logs. */
const CODES: ReadonlyArray<{ kind: CallFailure['kind']; because?: string; code: string }> = [
  { kind: 'gone', code: 'VENDOR_NOT_FOUND' },
  { kind: 'notNow', because: 'limit', code: 'VENDOR_BUDGET_SPENT' },
  { kind: 'notNow', because: 'budgetUnavailable', code: 'VENDOR_BUDGET_UNAVAILABLE' },
  { kind: 'notNow', because: 'appInactive', code: 'VENDOR_APP_INACTIVE' },
  { kind: 'notNow', code: 'VENDOR_CALL_LATER' },
  { kind: 'revoked', code: 'VENDOR_TOKEN_REVOKED' },
  { kind: 'refused', code: 'VENDOR_CALL_REFUSED' },
  { kind: 'broken', because: 'malformed', code: 'VENDOR_ANSWER_MALFORMED' },
  { kind: 'broken', code: 'VENDOR_OUTAGE' },
];

export function failureCode(failure: CallFailure): string {
  const because = 'because' in failure ? failure.because : undefined;
  const found = CODES.find(
    (one) => one.kind === failure.kind && (one.because === undefined || one.because === because),
  );
  return found?.code ?? failure.kind;
}
