import { z } from 'zod';
import { type OutboundAnswer } from '#reliability';
import { parseJson } from './parse-json.js';
import {
  StravaAnswerMalformed,
  StravaAppInactive,
  StravaForbidden,
  StravaNotFound,
  StravaOutage,
  StravaRequestRefused,
} from './strava.errors.js';
import { type Fault, faultOf, faultText } from './wire/fault.js';
import { problemsOf } from './wire/values.js';

/** What an answer other than 401 and 429 says: its content, or the error it stands for. */
export function readAnswer<T>(answer: OutboundAnswer, read: (json: unknown) => T): T {
  const { status } = answer;
  if (status >= 200 && status < 300) return contentOf(answer, read);
  if (status < 400) throw new StravaAnswerMalformed(`status ${status}`);
  if (status === 404) throw new StravaNotFound();
  if (status === 408 || status >= 500) throw new StravaOutage(`status ${status}`);
  const fault = faultOf(answer.body);
  if (status !== 403) throw new StravaRequestRefused(status, faultText(fault));
  throw isInactive(fault) ? new StravaAppInactive() : new StravaForbidden(faultText(fault));
}

/** A 401 that a new token would not mend. */
export function missingScope(fault: Fault): string | undefined {
  return fault.errors.find(({ code }) => code === 'missing')?.field;
}

function isInactive({ errors }: Fault): boolean {
  return errors.some(({ resource, code }) => resource === 'Application' && code === 'Inactive');
}

function contentOf<T>({ headers, body }: OutboundAnswer, read: (json: unknown) => T): T {
  const type = headers['content-type'] ?? '';
  if (!/^application\/([\w.-]+\+)?json\b/i.test(type))
    throw new StravaAnswerMalformed('not JSON by its type');
  try {
    return read(parseJson(body.toString('utf8')));
  } catch (cause) {
    if (cause instanceof z.ZodError) throw new StravaAnswerMalformed(problemsOf(cause));
    // Of a SyntaxError the message quotes what was read, so it stays out.
    if (cause instanceof SyntaxError || cause instanceof RangeError)
      throw new StravaAnswerMalformed('not JSON');
    throw cause;
  }
}
