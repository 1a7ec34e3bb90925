import { STATUS_CODES } from 'node:http';
import { type ValidationProblem } from './validation.js';

/** An Oura error in the form of RFC 7807. For a 422, `OuraValidationProblem` has FastAPI's list instead. */
export class OuraProblem extends Error {
  constructor(
    readonly status: 400 | 401 | 403,
    readonly detail: string,
  ) {
    super(detail);
  }

  get body(): unknown {
    return problemBody(this.status, this.detail);
  }
}

/** An error for a missing scope, document or webhook. In recordings of the real API such errors have only FastAPI's `detail`. */
export class OuraDetail extends Error {
  constructor(
    readonly status: 401 | 403 | 404,
    readonly detail: string,
  ) {
    super(detail);
  }

  get body(): unknown {
    return { detail: this.detail };
  }
}

/** FastAPI's answer to a wrong request: one entry per field. */
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
