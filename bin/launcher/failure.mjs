/** Something the person at the keyboard can act on: shown as it stands, without a stack. */
export class Failure extends Error {
  name = 'Failure';
}

export function tell(error) {
  if (error instanceof Failure && !process.env.DEBUG) return error.message;
  if (process.env.DEBUG) return error.stack;
  return `unexpected: ${error?.message ?? error} (DEBUG=1 shows where)`;
}
