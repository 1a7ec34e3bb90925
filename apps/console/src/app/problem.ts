/** An operation's error answer, as docs/errors.md describes it. */
interface ErrorAnswer {
  readonly error: string;
  readonly code: string;
  readonly details?: readonly string[];
  readonly request_id?: string;
}

export const UNREACHABLE = 'UNREACHABLE';

/** A request that got no usable answer. `code` is a code of docs/errors.md, or UNREACHABLE if the server did not answer at all. */
export class Problem extends Error {
  readonly code: string;
  readonly status: number;
  readonly details: readonly string[];
  readonly requestId: string | undefined;

  constructor(status: number, answer: ErrorAnswer) {
    super(answer.error);
    this.name = 'Problem';
    this.status = status;
    this.code = answer.code;
    this.details = answer.details ?? [];
    this.requestId = answer.request_id;
  }

  static unreachable(): Problem {
    return new Problem(0, { error: 'The server does not answer.', code: UNREACHABLE });
  }

  /** For anything that was thrown. An answer that is no JSON, as of a proxy in between, is thrown as a SyntaxError. */
  static from(thrown: unknown): Problem {
    if (thrown instanceof Problem) return thrown;
    return new Problem(0, { error: `The console made a mistake: ${String(thrown)}`, code: 'CONSOLE' });
  }

  static of(status: number, body: unknown): Problem {
    if (isErrorAnswer(body)) return new Problem(status, body);
    return new Problem(status, { error: `The server answered ${status}.`, code: 'UNKNOWN' });
  }

  /** True if the same request may succeed a moment later. */
  get isPassing(): boolean {
    return this.status === 0 || this.status === 429 || this.status >= 500;
  }
}

function isErrorAnswer(body: unknown): body is ErrorAnswer {
  return typeof body === 'object' && body !== null && 'error' in body && 'code' in body;
}
