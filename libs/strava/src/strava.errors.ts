import { AppError } from '#platform';

/** Strava, or our own share of its limits, has no room for this call now. Not a failure: it is made later. */
export class StravaRateLimited extends AppError {
  override readonly code = 'STRAVA.RATE_LIMITED';
  override readonly kind = 'unavailable';
  override readonly retryAfterSeconds: number;
  readonly retryAt: Date;

  /** `window`: `read 15min`, `read day`, … or why else not now: `boundary`, `slot`. `isVendors`: Strava has said so itself. */
  constructor(
    readonly window: string,
    readonly retryAfterMs: number,
    nowMs: number,
    readonly isVendors = false,
  ) {
    super(`No call to Strava is left (${window})`);
    this.retryAt = new Date(nowMs + retryAfterMs);
    this.retryAfterSeconds = Math.max(1, Math.ceil(retryAfterMs / 1_000));
  }
}

/** Nobody can say what has been spent of the limits, so nothing is sent. */
export class StravaBudgetUnavailable extends AppError {
  override readonly code = 'STRAVA.BUDGET_UNAVAILABLE';
  override readonly kind = 'unavailable';
  override readonly retryAfterSeconds = 5;
  constructor() {
    super('The budget for Strava cannot be asked');
  }
}

/** Leave to make the call was there, but by then nobody wanted it any more. Nothing was sent. */
export class CallUnwanted extends Error {}

/** The athlete ended the connection at Strava: the token is refused, and so was its refresh. */
export class StravaTokenRevoked extends AppError {
  override readonly code = 'STRAVA.TOKEN_REVOKED';
  override readonly kind = 'conflict';
  constructor(
    readonly athleteId: string,
    options?: ErrorOptions,
  ) {
    super('Strava has ended the connection: connect it again', options);
  }
}

export class StravaNotFound extends AppError {
  override readonly code = 'STRAVA.NOT_FOUND';
  override readonly kind = 'not_found';
  constructor() {
    super('Strava does not have it');
  }
}

/** The athlete did not grant what this call needs. */
export class StravaForbidden extends AppError {
  override readonly code = 'STRAVA.FORBIDDEN';
  override readonly kind = 'forbidden';
  constructor(what: string) {
    super(`Strava does not allow it: ${what}`);
  }
}

/** Strava has switched our app off, for all athletes; its owner has to look at it. */
export class StravaAppInactive extends AppError {
  override readonly code = 'STRAVA.APP_INACTIVE';
  override readonly kind = 'unavailable';
  override readonly retryAfterSeconds = 300;
  constructor() {
    super('Strava has switched this app off');
  }
}

/** No answer, or "we are broken", also at the second try. */
export class StravaOutage extends AppError {
  override readonly code = 'STRAVA.OUTAGE';
  override readonly kind = 'unavailable';
  override readonly retryAfterSeconds = 30;
  constructor(what: string, options?: ErrorOptions) {
    super(`Strava is out of order: ${what}`, options);
  }
}

/** An answer, but none that we can read: not JSON, too large, or of another shape. Asking again is of little use. */
export class StravaAnswerMalformed extends AppError {
  override readonly code = 'STRAVA.ANSWER_MALFORMED';
  override readonly kind = 'unavailable';
  constructor(what: string, options?: ErrorOptions) {
    super(`Strava's answer cannot be read: ${what}`, options);
  }
}

/** Strava says that the request itself is wrong. */
export class StravaRequestRefused extends AppError {
  override readonly code = 'STRAVA.REQUEST_REFUSED';
  override readonly kind = 'invalid';
  constructor(
    readonly status: number,
    what: string,
  ) {
    super(`Strava refused the request (${status}): ${what}`);
  }
}
