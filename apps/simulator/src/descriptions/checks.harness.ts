import { type Answer, type Harness } from '../simulator.harness.js';
import { type Description } from './description.harness.js';

export const UNKNOWN_ID = '6f1c9a52-0d5e-4b0e-9a3e-3b1f6c2d7e11';

interface Init {
  readonly token?: string;
  readonly headers?: Record<string, string>;
  readonly body?: unknown;
}

type Reasoned = readonly (readonly [what: RegExp, reason: string])[];

export interface Vendor {
  readonly name: 'strava' | 'oura' | 'whoop' | 'polar';
  readonly base: string;
  /** Described operations that the simulator does not offer, each with its name in the list of `docs/simulator.md`. */
  readonly notOffered: Reasoned;
  /** Differences in which the description is wrong and the simulator is right, each with a reason. */
  readonly wrong: Reasoned;
  /** Described fields that the simulator never answers, each with its reason. */
  readonly neverGiven: Reasoned;
  exercise(checks: Checks): Promise<void>;
}

/** Compares all answers of one vendor with its description. */
export class Checks {
  readonly problems: string[] = [];
  private readonly succeeded = new Set<string>();

  constructor(
    private readonly vendor: Vendor,
    readonly description: Description,
    readonly sim: Harness,
  ) {}

  /** `filled` is the operation's path with its parameters and a query. */
  async call(operation: string, expected: number, filled: string, init: Init = {}): Promise<Answer> {
    const { token, headers = {}, body } = init;
    const answer = await this.sim.call(operation.split(' ')[0]!, this.vendor.base + filled, {
      headers: {
        ...(token !== undefined && { authorization: `Bearer ${token}` }),
        ...(body !== undefined && { 'content-type': 'application/json' }),
        ...headers,
      },
      body: body === undefined ? undefined : JSON.stringify(body),
    });
    const contentType = answer.headers.get('content-type') ?? '';
    const problems = this.description.problems(operation, { ...answer, contentType });
    if (answer.status !== expected) problems.push(`is not ${expected}: ${answer.text.slice(0, 120)}`);
    const named = problems.map((problem) => `${operation} ${answer.status}: ${problem}`);
    this.problems.push(...named.filter((problem) => !isListed(this.vendor.wrong, problem)));
    if (answer.status < 300) this.succeeded.add(operation);
    return answer;
  }

  /** Entries of `notOffered` that fit no described operation. The list must be empty. */
  get misnamed(): string[] {
    const { operations } = this.description;
    return this.vendor.notOffered
      .filter(([what]) => !operations.some((operation) => what.test(operation)))
      .map(([, name]) => name);
  }

  /** Operations that are listed as not offered and yet do not answer 404. The list must be empty. */
  async offeredAfterAll(): Promise<string[]> {
    const answered = this.description.operations
      .filter((operation) => isListed(this.vendor.notOffered, operation))
      .map(async (operation) => {
        const [method = '', route = ''] = operation.split(' ');
        const path = route.replaceAll(/\{[\w-]+\}/g, UNKNOWN_ID);
        const { status } = await this.sim.call(method, this.vendor.base + path);
        return status === 404 ? [] : [`${operation} ${status}`];
      });
    return (await Promise.all(answered)).flat();
  }

  /** Offered operations without a successful answer. The list must be empty. */
  get unanswered(): string[] {
    return this.description.operations.filter(
      (operation) => !isListed(this.vendor.notOffered, operation) && !this.succeeded.has(operation),
    );
  }

  get neverGiven(): string[] {
    return this.description.neverGiven().filter((field) => !isListed(this.vendor.neverGiven, field));
  }
}

function isListed(list: Reasoned, text: string): boolean {
  return list.some(([what]) => what.test(text));
}
