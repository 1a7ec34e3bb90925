import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import fc from 'fast-check';
import { type Replica, Replicas } from '../../../../test/harness/replicas.js';
import { forgetAll, holdTime, passTime, placesOf, redisNowMs } from './gate.harness.js';
import { type Admission, type GatePolicy } from './session-gate.js';

// More of them before a release: MODEL_RUNS=5000.
const RUNS = Number(process.env['MODEL_RUNS'] ?? 150);
// A thousand seconds, so that no run takes as long in real time as what is told apart.
const UNIT_MS = 1_000_000;
const IDLE_MS = 2.4 * UNIT_MS;
const GRACE_MS = 1.1 * UNIT_MS;
const KEPT_MS = IDLE_MS + GRACE_MS;
const FORGOTTEN_MS = 10 * KEPT_MS;
// Whose order by bytes is not the one of people or of numbers.
const SESSIONS = ['a', 'B', 'b', '9', '10', '-', '_x', 'aa'];
const POOL = 'model';

describe('the gate, asked by two replicas', () => {
  const replicas = new Replicas();
  let both: Replica[];
  beforeAll(async () => {
    both = [await replicas.start(), await replicas.start()];
  });
  afterAll(() => replicas.end());

  it('agrees with a model, whatever happens in whatever order', async () => {
    const session = fc.constantFrom(...SESSIONS);
    const by = fc.nat(1);
    const event = fc.oneof(
      { weight: 12, arbitrary: fc.record({ kind: fc.constant('admit' as const), session, by }) },
      {
        weight: 5,
        arbitrary: fc.record({
          kind: fc.constant('admit together' as const),
          sessions: fc.array(session, { minLength: 2, maxLength: 12 }),
          by,
        }),
      },
      // Within the idle time, within the grace, just beyond it, and until everybody is forgotten.
      {
        weight: 8,
        arbitrary: fc.record({ kind: fc.constant('pause' as const), units: fc.constantFrom(1, 2, 3, 4, 35) }),
      },
      { weight: 2, arbitrary: fc.record({ kind: fc.constant('release' as const), session, by }) },
      {
        weight: 2,
        arbitrary: fc.record({
          kind: fc.constant('resize' as const),
          capacity: fc.integer({ min: 1, max: 5 }),
        }),
      },
      { weight: 1, arbitrary: fc.record({ kind: fc.constant('forget' as const) }) },
    );
    await fc.assert(
      fc.asyncProperty(fc.array(event, { minLength: 5, maxLength: 60 }), async (events) => {
        const run = await Run.begin(both);
        for (const one of events) {
          if (one.kind === 'admit') await run.admit([one.session], one.by);
          else if (one.kind === 'admit together') await run.admit(one.sessions, one.by);
          else if (one.kind === 'pause') await run.pause(one.units * UNIT_MS);
          else if (one.kind === 'release') await run.release(one.session, one.by);
          else if (one.kind === 'resize') run.resize(one.capacity);
          else await run.forget();
          await run.compare();
        }
      }),
      { numRuns: RUNS },
    );
  });
});

/** One sequence of events, done to the gate and to the model. */
class Run {
  private readonly model = new Model();
  private policy: GatePolicy = { capacity: 3, idleMs: IDLE_MS, graceMs: GRACE_MS };
  private most = this.policy.capacity;

  private constructor(
    private readonly replicas: readonly Replica[],
    private readonly startedAtMs: number,
  ) {}

  static async begin(replicas: readonly Replica[]): Promise<Run> {
    await forgetAll(replicas[0]!.redis, POOL);
    return new Run(replicas, await redisNowMs(replicas[0]!.redis));
  }

  async admit(sessions: readonly string[], by: number): Promise<void> {
    const gate = this.gateOf(by);
    const answers = await Promise.all(sessions.map((session) => gate.admit(POOL, session)));
    await holdTime(this.redis, POOL, this.startedAtMs);
    for (const [index, session] of sessions.entries())
      expectSame(answers[index]!, this.model.admit(session, this.policy.capacity));
  }

  async pause(ms: number): Promise<void> {
    await passTime(this.redis, POOL, ms);
    this.model.nowMs += ms;
  }

  async release(session: string, by: number): Promise<void> {
    await this.gateOf(by).release(POOL, session);
    this.model.seenAtMs.delete(session);
  }

  resize(capacity: number): void {
    this.policy = { ...this.policy, capacity };
    this.most = Math.max(capacity, this.model.seenAtMs.size);
  }

  async forget(): Promise<void> {
    await forgetAll(this.redis, POOL);
    this.model.seenAtMs.clear();
  }

  async compare(): Promise<void> {
    const places = await placesOf(this.redis, POOL);
    expect(places).toEqual([...this.model.seenAtMs.keys()].sort());
    expect(places.length).toBeLessThanOrEqual(this.most);
  }

  private gateOf(by: number) {
    return this.replicas[by]!.gate(this.policy);
  }

  private get redis() {
    return this.replicas[0]!.redis;
  }
}

/** What should be so. */
class Model {
  nowMs = 0;
  readonly seenAtMs = new Map<string, number>();

  admit(session: string, capacity: number): Admission {
    for (const [name, atMs] of this.seenAtMs)
      if (this.nowMs - atMs >= FORGOTTEN_MS) this.seenAtMs.delete(name);
    if (this.seenAtMs.has(session) || this.seenAtMs.size < capacity) return this.see(session);
    const goners = this.longestSilent().slice(0, this.seenAtMs.size - capacity + 1);
    const [, lastSeenAtMs] = goners.at(-1)!;
    const retryAfterMs = lastSeenAtMs + KEPT_MS - this.nowMs;
    if (retryAfterMs > 0) return { kind: 'busy', retryAfterMs };
    for (const [name] of goners) this.seenAtMs.delete(name);
    this.see(session);
    return { kind: 'rotated', replaced: goners[0]![0] };
  }

  private see(session: string): Admission {
    this.seenAtMs.set(session, this.nowMs);
    return { kind: 'admitted' };
  }

  private longestSilent(): Array<[string, number]> {
    return [...this.seenAtMs].sort(
      ([one, oneAt], [other, otherAt]) => oneAt - otherAt || (one < other ? -1 : 1),
    );
  }
}

/** But for the real time that the run has taken. */
function expectSame(answer: Admission, expected: Admission): void {
  if (answer.kind !== 'busy' || expected.kind !== 'busy') return expect(answer).toEqual(expected);
  const passedMs = expected.retryAfterMs - answer.retryAfterMs;
  expect(passedMs).toBeGreaterThanOrEqual(0);
  expect(passedMs).toBeLessThan(0.1 * UNIT_MS);
}
