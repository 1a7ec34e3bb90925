import { type Redis } from 'ioredis';
import { DependencyUnavailable, Gather, LuaScript } from '#platform';
import { untilAborted } from '../until-aborted.js';
import { gateDecisions } from './gate-metrics.js';

export type Admission =
  /** It has a place: it had one, or there was one left. */
  | { readonly kind: 'admitted' }
  /** It has the place of the one that had been silent for longest. */
  | { readonly kind: 'rotated'; readonly replaced: string }
  /** Until the earliest moment at which a place can become free. */
  | { readonly kind: 'busy'; readonly retryAfterMs: number };

export interface GatePolicy {
  /** Places in each pool. */
  readonly capacity: number;
  /** A session that was heard of within this time is in use. */
  readonly idleMs: number;
  /** For so long after that its place is kept all the same: it may only have lost its connection. */
  readonly graceMs: number;
}

interface Question {
  readonly pool: string;
  readonly session: string;
}

// Silent sessions keep their place as long as nobody wants it, but not for ever: they would be counted as if in use.
const FORGOTTEN_AFTER = 10;

const admit = new LuaScript<Array<number | string>>(import.meta.url, './admit.lua');
const count = new LuaScript<number>(import.meta.url, './count.lua');

/**
 * Who may use what there is only so much of. To ask is to be heard of; silent sessions lose their place to newcomers, the one
 * silent for longest first. Redis decides, by its own clock, on all that ask within a turn of the event loop at once.
 */
export class SessionGate {
  private readonly pools = new Set<string>();
  private readonly questions: Gather<Question, Admission>;
  private readonly keptMs: number;
  private readonly forgottenMs: number;

  constructor(
    private readonly redis: Redis,
    private readonly policy: GatePolicy,
  ) {
    this.keptMs = policy.idleMs + policy.graceMs;
    this.forgottenMs = FORGOTTEN_AFTER * this.keptMs;
    this.questions = new Gather((questions) => this.put(questions), {
      turnEnd: 'poll',
      areAlike: (one, other) => one.pool === other.pool,
    });
  }

  /** Throws DependencyUnavailable where Redis does not answer within its deadline. */
  async admit(pool: string, session: string, signal?: AbortSignal): Promise<Admission> {
    signal?.throwIfAborted();
    this.pools.add(pool);
    const deciding = orUnavailable(this.questions.ask({ pool, session }));
    // Who leaves meanwhile may have a place and say no word more, like everybody who just goes.
    const admission = await untilAborted(deciding, signal).catch((error: unknown) => {
      if (error instanceof DependencyUnavailable) gateDecisions.inc({ cause: 'redis_unavailable' });
      throw error;
    });
    gateDecisions.inc({ cause: admission.kind === 'busy' ? 'capacity_busy' : admission.kind });
    return admission;
  }

  /** Its place is free at once. */
  async release(pool: string, session: string): Promise<void> {
    await orUnavailable(this.redis.zrem(keyOf(pool), session));
  }

  /** Places taken, in all pools that this process was asked about. */
  async sessions(): Promise<number> {
    const counts = [...this.pools].map((pool) => count.run(this.redis, [keyOf(pool)], [this.forgottenMs]));
    return (await orUnavailable(Promise.all(counts))).reduce((sum, one) => sum + one, 0);
  }

  private async put(questions: readonly Question[]): Promise<Admission[]> {
    const pool = questions[0]?.pool ?? '';
    const sessions = questions.map(({ session }) => session);
    const { capacity } = this.policy;
    const limits = [capacity, this.keptMs, this.forgottenMs];
    const answers = await admit.run(this.redis, [keyOf(pool)], [...limits, ...sessions]);
    return answers.map(admissionOf);
  }
}

async function orUnavailable<T>(work: Promise<T>): Promise<T> {
  try {
    return await work;
  } catch (cause) {
    // Whatever kept Redis from deciding: nobody passes undecided.
    throw new DependencyUnavailable('redis', { cause });
  }
}

function admissionOf(answer: number | string): Admission {
  if (answer === 0) return { kind: 'admitted' };
  if (typeof answer === 'string') return { kind: 'rotated', replaced: answer };
  return { kind: 'busy', retryAfterMs: answer };
}

/** A pool is one key, so its decisions are in one slot of a cluster whatever else is in it. */
function keyOf(pool: string): string {
  return `gate:{${pool}}:sessions`;
}
