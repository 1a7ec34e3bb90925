import { randomUUID } from 'node:crypto';
import { type IncomingHttpHeaders } from 'node:http';

const GIVEN = /^[\w.-]{1,64}$/;

/** A caller's own id is kept, so that it can be found in both logs; anything odd is replaced. */
export function requestIdOf(headers: IncomingHttpHeaders): string {
  const given = headers['x-request-id'];
  return typeof given === 'string' && GIVEN.test(given) ? given : randomUUID();
}
