import { describe, expect, it } from '@jest/globals';
import { type Meter, type OutboundCaller, type Refusal } from '#reliability';
import { type Connections } from '../connections.js';
import { NeedsReauth } from '../errors.js';
import { AthleteCalls, BudgetSpent, CallLater, CallRefused } from './athlete-calls.js';
import { type CallBudget } from './budget-meter.js';

interface Scripted {
  readonly status: number;
  readonly body?: unknown;
}

/** A vendor that answers what it was told to, in turn, and remembers the tokens it was given. */
function setUp(
  answers: readonly Scripted[],
  more: { refused?: boolean; verdict?: 'renewed' | 'revoked' } = {},
) {
  const waiting = [...answers];
  const seen: string[] = [];
  const settled: number[] = [];
  let token = 'first';
  const caller = {
    call: async (request: { headers: Record<string, string> }, meter: Meter<Refusal>) => {
      const admission = await meter.admit();
      if (admission.kind !== 'granted') return admission;
      seen.push(request.headers.authorization ?? '');
      const { status, body } = waiting.shift() ?? { status: 500 };
      const headers = { 'retry-after': '7' };
      await admission.settle({ status, headers });
      return { kind: 'answered', answer: { status, headers, body: Buffer.from(JSON.stringify(body ?? {})) } };
    },
  } as unknown as OutboundCaller;
  const budget = {
    acquirePatiently: () =>
      Promise.resolve(
        more.refused
          ? { kind: 'refused', window: 'read minute', retryAfterMs: 1_234 }
          : { kind: 'granted', permit: {} },
      ),
    isFresh: () => true,
    settle: (_permit: object, status: number, _usage: object, retryAfterSeconds: number) => {
      settled.push(status);
      const closed = { kind: 'refused', window: 'read minute', retryAfterMs: retryAfterSeconds * 1_000 };
      return Promise.resolve(status === 429 ? closed : undefined);
    },
  } as unknown as CallBudget;
  const connections = {
    access: () => Promise.resolve({ token }),
    rejected: () => {
      token = 'second';
      return Promise.resolve(more.verdict ?? 'renewed');
    },
  } as unknown as Connections;
  const calls = new AthleteCalls('whoop', caller, budget, connections);
  return {
    get: () => calls.get({ athleteId: 'athlete', class: 'live' }, 'sleep', 'https://vendor.test/x'),
    seen,
    settled,
  };
}

describe('a call with an athlete’s token', () => {
  it('answers the JSON, and settles what it was charged', async () => {
    const { get, settled } = setUp([{ status: 200, body: { id: 'a' } }]);
    expect(await get()).toEqual({ id: 'a' });
    expect(settled).toEqual([200]);
  });

  it('answers nothing where there is nothing', async () => {
    expect(await setUp([{ status: 404 }]).get()).toBeUndefined();
  });

  it('tries once more with another token, charged as well', async () => {
    const { get, seen, settled } = setUp([{ status: 401 }, { status: 200, body: { id: 'a' } }]);
    expect(await get()).toEqual({ id: 'a' });
    expect(seen).toEqual(['Bearer first', 'Bearer second']);
    expect(settled).toEqual([401, 200]);
  });

  it('says where only the athlete can mend it', async () => {
    const { get } = setUp([{ status: 401 }], { verdict: 'revoked' });
    await expect(get()).rejects.toBeInstanceOf(NeedsReauth);
  });

  it('comes back when the budget says, without a call', async () => {
    const { get, seen } = setUp([], { refused: true });
    await expect(get()).rejects.toMatchObject({ code: 'VENDOR.BUDGET_SPENT', retryAfterMs: 1_234 });
    expect(seen).toEqual([]);
  });

  it('comes back when the vendor’s 429 says', async () => {
    const { get } = setUp([{ status: 429 }]);
    const error: unknown = await get().catch((reason: unknown) => reason);
    expect(error).toBeInstanceOf(BudgetSpent);
    expect(error).toMatchObject({ retryAfterMs: 7_000 });
  });

  it.each([500, 503, 408])('comes back later after %i', async (status) => {
    await expect(setUp([{ status }]).get()).rejects.toBeInstanceOf(CallLater);
  });

  it.each([400, 403, 422])('gives up after %i', async (status) => {
    await expect(setUp([{ status }]).get()).rejects.toBeInstanceOf(CallRefused);
  });
});
