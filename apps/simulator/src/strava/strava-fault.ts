export interface FaultDetail {
  readonly resource: string;
  readonly field: string;
  readonly code: string;
}

export interface FaultBody {
  readonly message: string;
  readonly errors: readonly FaultDetail[];
}

/** Every refusal of Strava: a status and a `Fault` body. Thrown by handlers, written by the error handler. */
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

/** The one body on record; how it names the read limit is not known, so both limits say this. */
export const RATE_LIMITED: FaultBody = {
  message: 'Rate Limit Exceeded',
  errors: [{ resource: 'Application', field: 'overall rate limit', code: 'exceeded' }],
};
