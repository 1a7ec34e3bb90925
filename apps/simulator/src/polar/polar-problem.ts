import { randomUUID } from 'node:crypto';
import { STATUS_CODES } from 'node:http';

/** A Polar error. Only the webhook calls have a documented body; all other calls get the same one here. */
export class PolarProblem extends Error {
  constructor(
    readonly status: number,
    message: string,
  ) {
    super(message);
  }
}

export function problemBody(status: number, message: string, nowMs: number) {
  const errorType = (STATUS_CODES[status] ?? 'Error').toLowerCase().replaceAll(' ', '_');
  return { timestamp: new Date(nowMs).toISOString(), status, errorType, message, corrId: randomUUID() };
}
