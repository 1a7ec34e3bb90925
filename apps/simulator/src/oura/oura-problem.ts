import { STATUS_CODES } from 'node:http';
import { type ValidationProblem } from './validation.js';

/** Oura answers errors in the manner of RFC 7807, except that a 422 is FastAPI's list. */
export class OuraProblem extends Error {
  constructor(
    readonly status: 400 | 401 | 403 | 404,
    readonly detail: string,
  ) {
    super(detail);
  }

  get body() {
    return problemBody(this.status, this.detail);
  }
}

export class OuraValidationProblem extends Error {
  constructor(
    readonly problems: readonly ValidationProblem[],
    readonly status = 422,
  ) {
    super('validation error');
  }

  get body() {
    return { detail: this.problems };
  }
}

export function problemBody(status: number, detail: string) {
  return { status, title: STATUS_CODES[status] ?? 'Error', detail };
}
