import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import fc from 'fast-check';
import { modelRuns } from '../../../../test/harness/model-runs.js';
import { type Replica, Replicas } from '../../../../test/harness/replicas.js';
import { forgetAll, holdTime, passTime, placesOf, redisNowMs, sharesOf } from './gate.harness.js';
import { type GateAnswer, type GatePolicy } from './session-gate.js';

// Set MODEL_RUNS=5000 before a release.
// A thousand seconds are far longer than a run takes, so that real time changes no decision.
const UNIT_MS = 1_000_000;
const IDLE_MS = 2.4 * UNIT_MS;
const GRACE_MS = 1.1 * UNIT_MS;
const KEPT_MS = IDLE_MS + GRACE_MS;
const FORGOTTEN_MS = 10 * KEPT_MS;
// Names whose byte order is neither alphabetical nor numerical.
const SESSIONS = ['a', 'B', 'b', '9', '10', '-', '_x', 'aa'];
const ADDRESSES = ['192.0.2.1', '192.0.2.2', '2001:db8:0:1'];
const POOL = 'model';

interface Client {
  readonly session: string;
  readonly address: string;
}

describe('the session gate of two replicas', () => {
  const replicas = new Replicas();
  let both: Replica[];
  beforeAll(async () => {
    both = [await replicas.start(), await replicas.start()];
  });
  afterAll(() => replicas.end());

  it('the session gate agrees with a model under random sequences of events', async () => {
    const session = fc.constantFrom(...SESSIONS);
    const client = fc.record({ session, address: fc.constantFrom(...ADDRESSES) });
    const by = fc.nat(1);
    const event = fc.oneof(
      { weight: 12, arbitrary: fc.record({ kind: fc.constant('admit' as const), client, by }) },
      {
        weight: 5,
        arbitrary: fc.record({
          kind: fc.constant('admit together' as const),
          clients: fc.array(client, { minLength: 2, maxLength: 12 }),
          by,
        }),
      },
      // Pauses within the idle time, within the grace, just beyond the grace, and until all sessions are forgotten.
      {
        weight: 8,
        arbitrary: fc.record({ kind: fc.constant('pause' as const), units: fc.constantFrom(1, 2, 3, 4, 35) }),
      },
      { weight: 2, arbitrary: fc.record({ kind: fc.constant('give back' as const), session, by }) },
      {
        weight: 2,
        arbitrary: fc.record({
          kind: fc.constant('resize' as const),
          capacity: fc.integer({ min: 1, max: 5 }),
          perAddress: fc.option(fc.integer({ min: 1, max: 4 }), { nil: undefined }),
        }),
      },
      { weight: 1, arbitrary: fc.record({ kind: fc.constant('forget' as const) }) },
    );
    await fc.assert(
      fc.asyncProperty(fc.array(event, { minLength: 5, maxLength: 60 }), async (events) => {
        const run = await Run.begin(both);
        for (const one of events) {
          if (one.kind === 'admit') await run.admit([one.client], one.by);
          else if (one.kind === 'admit together') await run.admit(one.clients, one.by);
          else if (one.kind === 'pause') await run.pause(one.units * UNIT_MS);
          else if (one.kind === 'give back') await run.giveBack(one.session, one.by);
          else if (one.kind === 'resize') run.resize(one);
          else await run.forget();
          await run.compare();
        }
      }),
      modelRuns(150),
    );
  });
});

/** Applies one sequence of events to the gate and to the model. */
class Run {
  private readonly model = new Model();
  private policy: GatePolicy = { capacity: 3, perAddress: 2, idleMs: IDLE_MS, graceMs: GRACE_MS };
  private most = this.policy.capacity;

  private constructor(
    private readonly replicas: readonly Replica[],
    private readonly startedAtMs: number,
  ) {}

  static async begin(replicas: readonly Replica[]): Promise<Run> {
    await forgetAll(replicas[0]!.redis, POOL);
    return new Run(replicas, await redisNowMs(replicas[0]!.redis));
  }

  async admit(clients: readonly Client[], by: number): Promise<void> {
    const gate = this.gateOf(by);
    const answers = await Promise.all(
      clients.map(({ session, address }) => gate.admit(POOL, session, { address })),
    );
    await holdTime(this.redis, POOL, this.startedAtMs);
    for (const [index, client] of clients.entries())
      expectSame(answers[index]!, this.model.admit(client, this.policy));
  }

  async pause(ms: number): Promise<void> {
    await passTime(this.redis, POOL, ms);
    this.model.nowMs += ms;
  }

  async giveBack(session: string, by: number): Promise<void> {
    await this.gateOf(by).giveBack(POOL, session);
    this.model.giveBack(session);
  }

  resize({ capacity, perAddress }: Pick<GatePolicy, 'capacity' | 'perAddress'>): void {
    this.policy = { ...this.policy, capacity, perAddress };
    this.most = Math.max(capacity, this.model.places.size);
  }

  async forget(): Promise<void> {
    await forgetAll(this.redis, POOL);
    this.model.places.clear();
  }

  async compare(): Promise<void> {
    const places = await placesOf(this.redis, POOL);
    expect(places).toEqual([...this.model.places.keys()].sort());
    expect(places.length).toBeLessThanOrEqual(this.most);
    expect(await sharesOf(this.redis, POOL)).toEqual(this.model.shares());
  }

  private gateOf(by: number) {
    return this.replicas[by]!.gate(this.policy);
  }

  private get redis() {
    return this.replicas[0]!.redis;
  }
}

interface Place {
  readonly address: string;
  readonly sinceMs: number;
  seenAtMs: number;
}

/** The gate's specification: decides one request after the other. */
class Model {
  nowMs = 0;
  readonly places = new Map<string, Place>();

  admit({ session, address }: Client, { capacity, perAddress = capacity }: GatePolicy): GateAnswer {
    for (const [name, { seenAtMs }] of this.places)
      if (this.nowMs - seenAtMs >= FORGOTTEN_MS) this.places.delete(name);
    const place = this.places.get(session);
    if (place) {
      place.seenAtMs = this.nowMs;
      return { kind: 'admitted' };
    }
    const isFull = this.places.size >= capacity;
    if (isFull) {
      const [, last] = this.longestSilent()[this.places.size - capacity]!;
      const retryAfterMs = last.seenAtMs + KEPT_MS - this.nowMs;
      if (retryAfterMs > 0) return { kind: 'busy', retryAfterMs };
    }
    const tooMany = Math.max(0, (this.shares()[address] ?? 0) - perAddress + 1);
    const own = this.longestSilent().filter(
      ([, one]) => one.address === address && this.nowMs - one.seenAtMs >= KEPT_MS,
    );
    if (own.length < tooMany) return { kind: 'busy', retryAfterMs: KEPT_MS };
    const goners = own.slice(0, tooMany).map(([name]) => name);
    for (const name of goners) this.places.delete(name);
    while (this.places.size >= capacity) {
      const [name] = this.longestSilent()[0]!;
      this.places.delete(name);
      goners.push(name);
    }
    this.places.set(session, { address, sinceMs: this.nowMs, seenAtMs: this.nowMs });
    return goners[0] === undefined ? { kind: 'admitted' } : { kind: 'rotated', replaced: goners[0] };
  }

  giveBack(session: string): void {
    const place = this.places.get(session);
    if (place && place.sinceMs === place.seenAtMs) this.places.delete(session);
  }

  shares(): Record<string, number> {
    const counts: Record<string, number> = {};
    for (const { address } of this.places.values()) counts[address] = (counts[address] ?? 0) + 1;
    return counts;
  }

  private longestSilent(): Array<[string, Place]> {
    return [...this.places].sort(
      ([one, { seenAtMs: oneAt }], [other, { seenAtMs: otherAt }]) =>
        oneAt - otherAt || (one < other ? -1 : 1),
    );
  }
}

/** Compares two answers; `retryAfterMs` may differ by the real time that the run has taken. */
function expectSame(answer: GateAnswer, expected: GateAnswer): void {
  if (answer.kind !== 'busy' || expected.kind !== 'busy') return expect(answer).toEqual(expected);
  const passedMs = expected.retryAfterMs - answer.retryAfterMs;
  expect(passedMs).toBeGreaterThanOrEqual(0);
  expect(passedMs).toBeLessThan(0.1 * UNIT_MS);
}
