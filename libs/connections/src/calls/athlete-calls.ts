import { AppError } from '#platform';
import { type Acquisition, type Permit, type Refused, type VendorBudget } from '#rate-limit';
import {
  type Admission,
  type Head,
  type Meter,
  type OutboundAnswer,
  type OutboundCaller,
} from '#reliability';
import { type Connections } from '../connections.js';
import { NeedsReauth } from '../errors.js';
import { type Provider } from '../oauth/provider.js';

type No = Exclude<Acquisition, { kind: 'granted' }>;

const UNKNOWN_RETRY_MS = 60_000;

/** Not now: the budget, the vendor or a server of ours is in the way. */
export class CallLater extends AppError {
  override readonly code = 'VENDOR.CALL_LATER';
  override readonly kind = 'unavailable';
  constructor(
    provider: Provider,
    why: string,
    readonly retryAfterMs: number,
  ) {
    super(`${provider} cannot be asked now: ${why}`);
  }
}

export class CallRefused extends AppError {
  override readonly code = 'VENDOR.CALL_REFUSED';
  override readonly kind = 'conflict';
  constructor(provider: Provider, status: number) {
    super(`${provider} answered ${status}`);
  }
}

/** Reads from a vendor with an athlete's token, within the vendor's own budget. */
export class AthleteCalls {
  constructor(
    private readonly provider: Provider,
    private readonly caller: OutboundCaller,
    private readonly budget: VendorBudget,
    private readonly connections: Connections,
  ) {}

  /** The JSON, or undefined where there is no such thing. Throws CallLater, CallRefused, NotConnected or NeedsReauth. */
  async get(athleteId: string, endpoint: string, url: string): Promise<unknown> {
    const first = await this.connections.access(athleteId, this.provider);
    let answer = await this.send(athleteId, endpoint, url, first.token);
    if (answer.status === 401) {
      const verdict = await this.connections.rejected(athleteId, this.provider, first.token);
      if (verdict === 'revoked') throw new NeedsReauth(this.provider);
      const { token } = await this.connections.access(athleteId, this.provider);
      answer = await this.send(athleteId, endpoint, url, token);
    }
    return this.contentOf(answer);
  }

  private contentOf({ status, body }: OutboundAnswer): unknown {
    if (status === 200) return JSON.parse(body.toString('utf8'));
    if (status === 404) return undefined;
    if (status === 401 || status === 408 || status >= 500)
      throw new CallLater(this.provider, `it answered ${status}`, UNKNOWN_RETRY_MS);
    throw new CallRefused(this.provider, status);
  }

  /** An answer of any status but 429. */
  private async send(
    athleteId: string,
    endpoint: string,
    url: string,
    token: string,
  ): Promise<OutboundAnswer> {
    const meter = new BudgetMeter(this.budget, { endpoint, class: 'live', userId: athleteId });
    const headers = { authorization: `Bearer ${token}`, accept: 'application/json' };
    const outcome = await this.caller.call({ method: 'GET', url, headers }, meter);
    switch (outcome.kind) {
      case 'refused':
        throw new CallLater(this.provider, `budget of ${outcome.window}`, outcome.retryAfterMs);
      case 'unavailable':
        throw new CallLater(this.provider, 'budget unknown', UNKNOWN_RETRY_MS);
      case 'answered':
        if (outcome.answer.status !== 429) return outcome.answer;
        throw new CallLater(this.provider, 'it said 429', meter.closed?.retryAfterMs ?? UNKNOWN_RETRY_MS);
    }
  }
}

class BudgetMeter implements Meter<No> {
  closed: Refused | undefined;

  constructor(
    private readonly budget: VendorBudget,
    private readonly call: { endpoint: string; class: 'live'; userId: string },
  ) {}

  async admit(): Promise<Admission | No> {
    const acquisition = await this.budget.acquire(this.call);
    if (acquisition.kind !== 'granted') return acquisition;
    const { permit } = acquisition;
    return {
      kind: 'granted',
      isFresh: () => this.budget.isFresh(permit),
      settle: (answer) => this.settle(permit, answer),
      giveBack: () => this.budget.giveBack(permit),
    };
  }

  private async settle(permit: Permit, answer: Head | undefined): Promise<void> {
    const { status = 0, headers = {} } = answer ?? {};
    const retryAfterSeconds = Number(headers['retry-after'] ?? headers['x-ratelimit-reset']) || 0;
    this.closed = await this.budget.settle(permit, status, [], retryAfterSeconds);
  }
}
