import { z } from 'zod';
import { AppError } from '#platform';
import { type CallClass } from '#rate-limit';
import { type OutboundAnswer, type OutboundCaller } from '#reliability';
import { type Connections } from '../connections.js';
import { NeedsReauth } from '../errors.js';
import { type Provider } from '../oauth/provider.js';
import { BudgetMeter, type CallBudget, type ReadRates, retryAfterAlone } from './budget-meter.js';

const UNKNOWN_RETRY_MS = 60_000;
// Longer than the guards on both sides of a boundary.
const BOUNDARY_MS = 5_000;

/** Not now: the vendor or a server of ours is in the way. */
export class CallLater extends AppError {
  override readonly code: string = 'VENDOR.CALL_LATER';
  override readonly kind = 'unavailable';
  constructor(
    provider: Provider,
    why: string,
    readonly retryAfterMs: number,
  ) {
    super(`${provider} cannot be asked now: ${why}`);
  }
}

/** Not now, and nothing is wrong: the budget is spent until then. */
export class BudgetSpent extends CallLater {
  override readonly code = 'VENDOR.BUDGET_SPENT';
}

export class CallRefused extends AppError {
  override readonly code = 'VENDOR.CALL_REFUSED';
  override readonly kind = 'conflict';
  constructor(
    provider: Provider,
    readonly status: number,
  ) {
    super(`${provider} answered ${status}`);
  }
}

/** For whom and how urgently a vendor is asked. */
export interface Asker {
  readonly athleteId: string;
  readonly class: CallClass;
}

/** How a vendor tells a list in pages. */
export interface Paging {
  readonly url: string;
  /** The field of the answer that holds the items; where the next page begins is always told as `next_token`. */
  readonly items: string;
  /** The field of the question that names the page. */
  readonly token: string;
}

// A list that goes on for longer than this goes in a circle.
const MOST_PAGES = 100;
const Page = z.looseObject({ next_token: z.string().nullish() });

/** Reads from a vendor with an athlete's token, within the vendor's own budget. */
export class AthleteCalls {
  constructor(
    private readonly provider: Provider,
    private readonly caller: OutboundCaller,
    private readonly budget: CallBudget,
    private readonly connections: Connections,
    private readonly readRates: ReadRates = retryAfterAlone,
  ) {}

  /**
   * The JSON, or undefined where there is no such thing. Throws CallLater (BudgetSpent), CallRefused, NotConnected or
   * NeedsReauth.
   */
  async get(asker: Asker, endpoint: string, url: string): Promise<unknown> {
    const { athleteId } = asker;
    const first = await this.connections.access(athleteId, this.provider);
    let answer = await this.send(asker, endpoint, url, first.token);
    if (answer.status === 401) {
      const verdict = await this.connections.rejected(athleteId, this.provider, first.token);
      if (verdict === 'revoked') throw new NeedsReauth(this.provider);
      const { token } = await this.connections.access(athleteId, this.provider);
      answer = await this.send(asker, endpoint, url, token);
    }
    return this.contentOf(answer);
  }

  /** All items of a list, whatever they look like. Throws as `get` does. */
  async list(asker: Asker, endpoint: string, { url, items, token }: Paging): Promise<unknown[]> {
    const all: unknown[] = [];
    const at = new URL(url);
    for (let pages = 0; pages < MOST_PAGES; pages += 1) {
      const answer = await this.get(asker, endpoint, at.href);
      // A list that is empty is a list. Believed, this would be the end of all that it should have held.
      if (answer === undefined)
        throw new CallLater(this.provider, 'it answered a list with 404', UNKNOWN_RETRY_MS);
      const page = Page.parse(answer);
      all.push(...z.array(z.unknown()).parse(page[items]));
      if (!page.next_token) return all;
      at.searchParams.set(token, page.next_token);
    }
    throw new CallLater(this.provider, `its list has more than ${MOST_PAGES} pages`, UNKNOWN_RETRY_MS);
  }

  private contentOf({ status, body }: OutboundAnswer): unknown {
    if (status === 200) return JSON.parse(body.toString('utf8'));
    if (status === 404) return undefined;
    if (status === 401 || status === 408 || status >= 500)
      throw new CallLater(this.provider, `it answered ${status}`, UNKNOWN_RETRY_MS);
    throw new CallRefused(this.provider, status);
  }

  /** An answer of any status but 429. */
  private async send(asker: Asker, endpoint: string, url: string, token: string): Promise<OutboundAnswer> {
    const call = { endpoint, class: asker.class, userId: asker.athleteId };
    const meter = new BudgetMeter(this.budget, call, { readRates: this.readRates, waitMs: BOUNDARY_MS });
    const headers = { authorization: `Bearer ${token}`, accept: 'application/json' };
    const outcome = await this.caller.call({ method: 'GET', url, headers }, meter);
    switch (outcome.kind) {
      case 'refused':
        throw new BudgetSpent(this.provider, `budget of ${outcome.window}`, outcome.retryAfterMs);
      case 'unavailable':
      case 'unwanted':
        throw new CallLater(this.provider, 'budget unknown', UNKNOWN_RETRY_MS);
      case 'answered':
        if (outcome.answer.status !== 429) return outcome.answer;
        throw new BudgetSpent(this.provider, 'it said 429', meter.closed?.retryAfterMs ?? UNKNOWN_RETRY_MS);
    }
  }
}
