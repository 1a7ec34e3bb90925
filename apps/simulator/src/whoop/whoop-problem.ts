/** WHOOP answers errors with a plain sentence; its 401 says exactly this one. */
export class WhoopProblem extends Error {
  constructor(
    readonly status: 400 | 401 | 404,
    message: string,
  ) {
    super(message);
  }
}

export const INVALID_AUTHORIZATION = 'Authorization was not valid';
export const NO_RESOURCE = 'No resource found';
export const RATE_LIMITED = 'Request rejected due to rate limiting';
export const SERVER_ERROR = 'Server error occurred while making request';
