import { z } from 'zod';
import { AnswerTooLarge, CallTimedOut, ConnectionFailed, type OutboundAnswer } from '#reliability';
import { type CallFailure, type CallOutcome, ok } from './call-outcome.js';
import { parseJson } from './parse-json.js';

/** The meaning of a vendor's error answer. */
interface AnswerFault {
  /** A missing scope comes with a 401; a renewed token would have the same scopes. `grant ended` has another status than 401. */
  readonly means?: 'missing scope' | 'app inactive' | 'grant ended';
  /** The vendor's words, without personal data. */
  readonly text?: string;
}

export type ReadFault = (answer: OutboundAnswer) => AnswerFault;

const APP_INACTIVE_RETRY_MS = 300_000;

/** Reads a vendor's answers of any status. `VendorCalls` itself handles a 429, and an answer for which `refusesToken` is true. */
export class VendorAnswers {
  constructor(
    private readonly title: string,
    private readonly readFault: ReadFault = () => ({}),
  ) {}

  /** True for a 401 after which another token may help, and for an answer that says that the grant has ended. */
  refusesToken(answer: OutboundAnswer): boolean {
    const { means } = this.readFault(answer);
    return means === 'grant ended' || (answer.status === 401 && means !== 'missing scope');
  }

  read<T>(answer: OutboundAnswer, parse: (json: unknown) => T): CallOutcome<T> {
    const { status } = answer;
    if (status >= 200 && status < 300) return this.parsed(answer, parse);
    if (status < 400) return this.malformed(`status ${status}`);
    if (status === 404)
      return {
        kind: 'gone',
        reason: `${this.title} answered 404: it has no such object, or hides it from this app`,
      };
    if (status === 408 || status >= 500) return this.outage(`status ${status}`);
    const { means, text = 'no reason given' } = this.readFault(answer);
    if (means === 'app inactive')
      return {
        kind: 'notNow',
        because: 'appInactive',
        retryAfterMs: APP_INACTIVE_RETRY_MS,
        reason: `${this.title} has switched this app off`,
      };
    return { kind: 'refused', status, reason: `${this.title} refused the request (${status}): ${text}` };
  }

  /** The failure of a call without an answer. Undefined for other causes, such as the caller's abort. */
  withoutAnswer(cause: unknown): CallFailure | undefined {
    if (cause instanceof CallTimedOut) return this.outage('no answer in time');
    if (cause instanceof ConnectionFailed) return this.outage('the connection failed');
    if (cause instanceof AnswerTooLarge) return this.malformed('too large');
    return undefined;
  }

  outage(reason: string): CallFailure {
    return { kind: 'broken', because: 'outage', reason: `${this.title} is out of order: ${reason}` };
  }

  malformed(reason: string): CallFailure {
    return {
      kind: 'broken',
      because: 'malformed',
      reason: `${this.title}'s answer cannot be read: ${reason}`,
    };
  }

  /** `parse` gets undefined for a 204, which some vendors answer in place of an empty list. */
  private parsed<T>({ status, headers, body }: OutboundAnswer, parse: (json: unknown) => T): CallOutcome<T> {
    const isEmpty = status === 204;
    if (!isEmpty && !/^application\/([\w.-]+\+)?json\b/i.test(headers['content-type'] ?? ''))
      return this.malformed('not JSON by its type');
    try {
      return ok(parse(isEmpty ? undefined : parseJson(body.toString('utf8'))));
    } catch (cause) {
      if (cause instanceof z.ZodError) return this.malformed(problemsOf(cause));
      // The message of a SyntaxError quotes the answer, which may be personal data; so it is dropped.
      if (cause instanceof SyntaxError || cause instanceof RangeError) return this.malformed('not JSON');
      throw cause;
    }
  }
}

const MAX_PROBLEMS = 5;

/** Names the invalid fields, never their values: those may be personal data. */
export function problemsOf({ issues }: z.ZodError): string {
  return issues
    .slice(0, MAX_PROBLEMS)
    .map(({ path, message }) => `${path.join('.') || 'answer'}: ${message}`)
    .join('; ');
}
