interface FaultDetail {
  readonly resource: string;
  readonly field: string;
  readonly code: string;
}

export interface FaultBody {
  readonly message: string;
  readonly errors: readonly FaultDetail[];
}

/** An error of Strava, with a status and a `Fault` body. A handler throws it, and the error handler sends it. */
export class StravaFault extends Error {
  constructor(
    readonly status: number,
    readonly body: FaultBody,
  ) {
    super(body.message);
  }
}

export function badRequest(resource: string, field: string, code = 'invalid'): StravaFault {
  return new StravaFault(400, { message: 'Bad Request', errors: [{ resource, field, code }] });
}

export function authorizationError(resource: string, field: string, code: string): StravaFault {
  return new StravaFault(401, { message: 'Authorization Error', errors: [{ resource, field, code }] });
}

export function invalidToken(): StravaFault {
  return authorizationError('Athlete', 'access_token', 'invalid');
}

export function missingScope(scope: string): StravaFault {
  return authorizationError('AccessToken', `${scope}_permission`, 'missing');
}

export function notFound(resource: string): StravaFault {
  const errors = [{ resource, field: 'id', code: 'not found' }];
  return new StravaFault(404, { message: 'Resource Not Found', errors });
}

export const INACTIVE: FaultBody = {
  message: 'Forbidden',
  errors: [{ resource: 'Application', field: 'Status', code: 'Inactive' }],
};

export const TOO_MANY_ATHLETES: FaultBody = { message: 'Limit of connected athletes exceeded', errors: [] };

/** The only known body of a 429, from the overall limit. The body for the read limit is unknown, so both limits use this one. */
export const RATE_LIMITED: FaultBody = {
  message: 'Rate Limit Exceeded',
  errors: [{ resource: 'Application', field: 'overall rate limit', code: 'exceeded' }],
};
