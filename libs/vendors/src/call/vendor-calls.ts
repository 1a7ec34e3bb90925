import { describeSpan, inSpan, type TimeScale } from '#platform';
import {
  BOUNDARY_WAIT_MS,
  type CallClass,
  type CounterPolicy,
  type GrantedPermit,
  type PermitOutcome,
  type PermitWait,
  type VendorCall,
  type VendorPolicy,
} from '#rate-limit';
import { type OutboundAnswer, type OutboundCaller, type OutboundRequest } from '#reliability';
import { type CallFailure, type CallOutcome } from './call-outcome.js';
import { type TokenAccess, type TokenSource } from './token-source.js';
import { type ReadFault, VendorAnswers } from './vendor-answer.js';

/** The athlete whose token is used, the urgency of the call, and how long it may wait. */
export interface CallContext {
  readonly athleteId: string;
  readonly class: CallClass;
  readonly signal?: AbortSignal;
  /** The longest wait for a window's boundary or for a slot. Default: BOUNDARY_WAIT_MS, enough for a boundary on the clock. */
  readonly waitMs?: number;
  /** Called once there is a permit, before each request. If false, the permit is given back and nothing is sent. */
  readonly claim?: () => Promise<boolean>;
}

export interface VendorRequest extends Pick<OutboundRequest, 'body' | 'maxBytes' | 'repeatable'> {
  /** The endpoint's name in metrics and in the ledger. */
  readonly endpoint: string;
  /** Begins with a slash; appended to the URL of the vendor's API. */
  readonly path: string;
  /** Default: GET. */
  readonly method?: OutboundRequest['method'];
  readonly holdsSlot?: boolean;
  readonly needsCounters?: boolean;
}

/** The part of `VendorBudget` that a call uses: it waits for a window's boundary or for a slot, and never for a full window. */
export interface CallBudget {
  waitForPermit(call: VendorCall, wait: PermitWait): Promise<PermitOutcome>;
}

/** The servers and parts of a process that the calls to one vendor use. */
interface CallParts {
  readonly apiUrl: string;
  readonly caller: OutboundCaller;
  readonly budget: CallBudget;
  readonly tokens: TokenSource;
  readonly scale: TimeScale;
}

/** The part of a vendor that its calls need. */
export interface CalledVendor {
  readonly id: string;
  readonly title: string;
  readonly limits: VendorPolicy;
  readonly readFault?: ReadFault;
}

/** There is no permit, or after the wait for it the call may not be sent any more. */
type Refusal =
  | Exclude<PermitOutcome, { kind: 'granted' }>
  | { readonly kind: 'unclaimed' }
  | { readonly kind: 'disconnected' };

type Access = Extract<TokenAccess, { kind: 'token' }>;

type Sent = { readonly kind: 'answered'; readonly answer: OutboundAnswer } | CallFailure;

const BUDGET_UNAVAILABLE_RETRY_MS = 5_000;
const TOO_MANY_REQUESTS = 429;
const MOST_REQUESTS = 2;
const MAX_UNPROVEN = 1_000;

/**
 * All calls to a vendor with an athlete's token: token, permit, connection, claim, HTTP, settlement. Every request is charged. Returns an
 * outcome; throws only if one of our own servers is away, if the caller's signal aborts, or for a bug.
 *
 * The wait for a permit may outlast the athlete's connection, so the connection is checked after it. A request begins only while its permit
 * is fresh; so once no fresh permit from before a disconnection is left, no request for that athlete begins any more.
 *
 * | failure               | second request                                                                  |
 * | --------------------- | ------------------------------------------------------------------------------- |
 * | 5xx, reset, timeout   | once, by `OutboundCaller`, within its total deadline; not if `repeatable: false` |
 * | 401                   | once, with a renewed token, unless the 401 names a missing scope                |
 * | 429, no permit        | none: `notNow` with the time of the next attempt                                |
 */
export class VendorCalls {
  readonly answers: VendorAnswers;
  /**
   * Endpoint and token, for tokens that the vendor issued after it had refused their renewed predecessor. A vendor may answer a missing
   * scope with the same 401 as an expired token (WHOOP does), so another renewal with every call would use up a single-use refresh token
   * each time. A later success at the endpoint removes the entry. Not shared between processes.
   */
  private readonly unproven = new Set<string>();

  constructor(
    private readonly vendor: CalledVendor,
    private readonly parts: CallParts,
  ) {
    this.answers = new VendorAnswers(vendor.title, vendor.readFault);
  }

  /** A ZodError or a SyntaxError of `parse` makes the answer malformed. */
  async call<T>(
    context: CallContext,
    request: VendorRequest,
    parse: (json: unknown) => T,
  ): Promise<CallOutcome<T>> {
    let access = await this.parts.tokens.access(context.athleteId, this.vendor.id);
    for (let requests = 1; access.kind === 'token'; requests += 1) {
      const { token } = access;
      const key = `${request.endpoint} ${token}`;
      const current = access;
      const send = () => this.send(context, request, current);
      const sent = await inSpan(`${this.vendor.id} ${request.endpoint}`, 'CLIENT', send);
      if (sent.kind !== 'answered') return sent;
      if (!this.answers.refusesToken(sent.answer)) {
        if (sent.answer.status < 500) this.unproven.delete(key);
        return this.answers.read(sent.answer, parse);
      }
      if (this.unproven.has(key)) return this.refusesItsTokens();
      // A second 401 may mean that the athlete has just ended the connection; another renewal shows that.
      access = await this.parts.tokens.rejected(context.athleteId, this.vendor.id, token);
      if (requests < MOST_REQUESTS || access.kind !== 'token') continue;
      this.rememberUnproven(`${request.endpoint} ${access.token}`);
      return this.refusesItsTokens();
    }
    return access;
  }

  private async send(
    context: CallContext,
    request: VendorRequest,
    { token, connection }: Access,
  ): Promise<Sent> {
    const { endpoint, path, method = 'GET', body, holdsSlot, needsCounters, ...bounds } = request;
    const { athleteId: userId, waitMs = BOUNDARY_WAIT_MS, claim, signal } = context;
    const call = { endpoint, class: context.class, userId, holdsSlot, needsCounters };
    let granted: GrantedPermit | undefined;
    const permit = async (permitSignal?: AbortSignal) => {
      const outcome = await this.parts.budget.waitForPermit(call, { waitMs, signal: permitSignal });
      if (outcome.kind !== 'granted') return outcome;
      granted = outcome;
      return this.sendable(outcome, connection, claim);
    };
    const headers = {
      authorization: `Bearer ${token}`,
      accept: 'application/json',
      ...(body !== undefined && { 'content-type': 'application/json' }),
    };
    const outbound = { method, url: this.parts.apiUrl + path, headers, body, signal, ...bounds };
    try {
      const outcome = await this.parts.caller.call<Refusal>(outbound, { permit });
      // The path is left out: it holds ids of athletes and activities.
      describeSpan(
        outcome.kind === 'answered'
          ? { 'http.request.method': method, 'http.response.status_code': outcome.answer.status }
          : { 'permit.outcome': outcome.kind },
      );
      if (outcome.kind === 'answered' && outcome.answer.status === TOO_MANY_REQUESTS)
        return this.limitReached(`${this.vendor.title} answered 429`, granted?.closedWindow?.retryAfterMs);
      return outcome.kind === 'answered' ? outcome : this.withoutPermit(outcome);
    } catch (cause) {
      const failure = this.answers.withoutAnswer(cause);
      if (!failure) throw cause;
      return failure;
    }
  }

  /** Returns the permit, or gives it back and returns why the call may not be sent. */
  private async sendable(
    permit: GrantedPermit,
    connection: string,
    claim: CallContext['claim'],
  ): Promise<GrantedPermit | Refusal> {
    let refusal: Refusal | undefined = { kind: 'disconnected' };
    try {
      if (await this.parts.tokens.isConnected(connection))
        refusal = !claim || (await claim()) ? undefined : { kind: 'unclaimed' };
    } finally {
      if (refusal) await permit.giveBack();
    }
    return refusal ?? permit;
  }

  private withoutPermit(refusal: Refusal): CallFailure {
    const { title } = this.vendor;
    switch (refusal.kind) {
      case 'notNow':
        return this.limitReached(`No call to ${title} is left (${refusal.window})`, refusal.retryAfterMs);
      case 'unavailable':
        return notNow(
          'budgetUnavailable',
          BUDGET_UNAVAILABLE_RETRY_MS,
          `The state of the rate limits of ${title} is unavailable`,
        );
      case 'unclaimed':
        return notNow('unclaimed', 0, `The call to ${title} is no longer needed`);
      case 'disconnected':
        return { kind: 'revoked', reason: `The connection to ${title} has ended` };
    }
  }

  /** Without a time of the vendor or of the budget, the shortest window says when to retry. */
  private limitReached(
    reason: string,
    retryAfterMs = this.parts.scale.wait(this.shortestWindow.seconds * 1_000),
  ): CallFailure {
    return this.vendor.limits.atLimit === 'fail'
      ? { kind: 'refused', status: TOO_MANY_REQUESTS, reason }
      : notNow('limit', retryAfterMs, reason);
  }

  private get shortestWindow(): CounterPolicy {
    return this.vendor.limits.counters.reduce((one, other) => (other.seconds < one.seconds ? other : one));
  }

  private refusesItsTokens(): CallFailure {
    return this.answers.outage('it refuses the tokens that it issues');
  }

  private rememberUnproven(key: string): void {
    const [oldest] = this.unproven;
    if (oldest !== undefined && this.unproven.size >= MAX_UNPROVEN) this.unproven.delete(oldest);
    this.unproven.add(key);
  }
}

function notNow(
  because: (CallFailure & { kind: 'notNow' })['because'],
  retryAfterMs: number,
  reason: string,
): CallFailure {
  return { kind: 'notNow', because, retryAfterMs, reason };
}
