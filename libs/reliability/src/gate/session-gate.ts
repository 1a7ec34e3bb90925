import { Counter, Gauge } from 'prom-client';
import { DependencyUnavailable, Gather, LuaScript, type RedisClient, startAtZero } from '#platform';
import { untilAborted } from '../abort.js';
import { type Cause } from '../causes.js';

export type GateAnswer =
  /** The session has a place: it already had a place, or a place was free. */
  | { readonly kind: 'admitted' }
  /** The session got the place of the session silent for longest. */
  | { readonly kind: 'rotated'; readonly replaced: string }
  /**
   * No place. `retryAfterMs` is the time until the longest silent session can lose its place. If the address has its full share,
   * `retryAfterMs` is `idleMs + graceMs`.
   */
  | { readonly kind: 'busy'; readonly retryAfterMs: number };

export interface GatePolicy {
  /** Places in each pool. */
  readonly capacity: number;
  /** Most places for the sessions of one address. If absent, there is no limit per address. */
  readonly perAddress?: number;
  /** A session with a heartbeat within this time is in use. */
  readonly idleMs: number;
  /** A silent session keeps its place for this long after `idleMs`, since its connection may be interrupted. */
  readonly graceMs: number;
}

/** A pool of places as operators see it. */
interface GatePlaces {
  readonly capacity: number;
  readonly used: number;
  /**
   * Sessions that were refused a place within `idleMs + graceMs` and have got none since; at most 1,000. There is no queue: such a session
   * gets a place only if it asks again, and the gate does not know whether it will.
   */
  readonly waiting: number;
  readonly places: ReadonlyArray<{
    /** Time since the session got its place. */
    readonly heldMs: number;
    /** Time since the session's last heartbeat. */
    readonly silentMs: number;
    /** The session is no longer in use; it keeps its place for the grace, and while nobody needs it. */
    readonly isIdle: boolean;
  }>;
}

interface AdmitRequest {
  readonly pool: string;
  readonly session: string;
  readonly address: string;
}

interface AdmitOptions {
  /** The place counts against this address, also if the session's address changes later. The address must have no line breaks. */
  readonly address?: string;
  readonly signal?: AbortSignal;
}

// A silent session keeps its place and is counted until a newcomer needs the place. After this many times `idleMs + graceMs`
// the session loses its place in any case.
const FORGET_FACTOR = 10;

const admit = new LuaScript<Array<number | string>>(import.meta.url, './admit.lua');
const giveBack = new LuaScript<number>(import.meta.url, './give-back.lua');
const count = new LuaScript<number>(import.meta.url, './count.lua');
const readPlaces = new LuaScript<
  [used: number, places: Array<[silentMs: number, heldMs: number]>, waiting: number]
>(import.meta.url, './read-places.lua');

/**
 * Limits concurrent sessions. Each request counts as a heartbeat. Silent sessions lose their places to newcomers; the longest
 * silent session is the first to lose its place. A newcomer from an address with its full share gets only the place of a silent
 * session of that address. Redis decides by its own clock. Requests for one pool in one turn of the event loop are one command. If
 * Redis fails, no session is admitted. Not guaranteed: a client with many addresses can take more than one share.
 */
export class SessionGate {
  private readonly pools = new Set<string>();
  private readonly requests: Gather<AdmitRequest, GateAnswer>;
  private readonly holdMs: number;
  private readonly forgetMs: number;

  constructor(
    private readonly redis: RedisClient,
    private readonly policy: GatePolicy,
  ) {
    this.holdMs = policy.idleMs + policy.graceMs;
    this.forgetMs = FORGET_FACTOR * this.holdMs;
    this.requests = new Gather((requests) => this.admitTogether(requests), {
      turnEnd: 'poll',
      areAlike: (one, other) => one.pool === other.pool,
    });
  }

  /** Throws DependencyUnavailable if Redis fails or does not answer within its deadline. */
  async admit(
    pool: string,
    session: string,
    { address = '', signal }: AdmitOptions = {},
  ): Promise<GateAnswer> {
    signal?.throwIfAborted();
    this.pools.add(pool);
    const decision = orUnavailable(this.requests.submit({ pool, session, address }));
    // If the client disconnects now, its session may get a place that it does not use. The place times out.
    const answer = await untilAborted(decision, signal).catch((error: unknown) => {
      if (error instanceof DependencyUnavailable) gateDecisions.inc({ cause: 'redis_unavailable' });
      throw error;
    });
    gateDecisions.inc({ cause: answer.kind === 'busy' ? 'capacity_busy' : answer.kind });
    return answer;
  }

  /** Frees the session's place if the session has had no heartbeat since it got the place. */
  async giveBack(pool: string, session: string): Promise<void> {
    const [places, holders, addresses] = keysOf(pool);
    await orUnavailable(giveBack.run(this.redis, [places, holders, addresses], [session]));
  }

  /** Counts the sessions in all pools that this process has served. */
  async sessions(): Promise<number> {
    const counts = [...this.pools].map((pool) => count.run(this.redis, [keysOf(pool)[0]], [this.forgetMs]));
    return (await orUnavailable(Promise.all(counts))).reduce((sum, one) => sum + one, 0);
  }

  /** The places of a pool, latest heartbeat first, without the names of their sessions. `places` has at most `most` items. */
  async places(pool: string, most: number): Promise<GatePlaces> {
    const [places, holders, , refused] = keysOf(pool);
    const [used, taken, waiting] = await orUnavailable(
      readPlaces.run(this.redis, [places, holders, refused], [this.forgetMs, most, this.holdMs]),
    );
    const { capacity, idleMs } = this.policy;
    return {
      capacity,
      used,
      waiting,
      places: taken.map(([silentMs, heldMs]) => ({ heldMs, silentMs, isIdle: silentMs >= idleMs })),
    };
  }

  private async admitTogether(requests: readonly AdmitRequest[]): Promise<GateAnswer[]> {
    const pool = requests[0]?.pool ?? '';
    const sessions = requests.map(({ session }) => session);
    const addresses = requests.map(({ address }) => `${address}\n`).join('');
    const { capacity, perAddress = capacity } = this.policy;
    const limits = [capacity, perAddress, this.holdMs, this.forgetMs];
    const answers = await admit.run(this.redis, keysOf(pool), [...limits, addresses, ...sessions]);
    return answers.map(answerOf);
  }
}

async function orUnavailable<T>(work: Promise<T>): Promise<T> {
  try {
    return await work;
  } catch (cause) {
    // Fail closed: on any Redis error no session is admitted.
    throw new DependencyUnavailable('redis', { cause });
  }
}

function answerOf(answer: number | string): GateAnswer {
  if (answer === 0) return { kind: 'admitted' };
  if (typeof answer === 'string') return { kind: 'rotated', replaced: answer };
  return { kind: 'busy', retryAfterMs: answer };
}

/** The hash tag keeps all keys of a pool in one slot of a Redis cluster. */
function keysOf(pool: string): [places: string, holders: string, addresses: string, refused: string] {
  const key = (name: string) => `gate:{${pool}}:${name}`;
  return [key('places'), key('holders'), key('addresses'), key('refused')];
}

/** The outcome of a request for a place. A feature that refuses a request without asking the gate counts the refusal here, too. */
export type GateDecision =
  'admitted' | 'rotated' | Extract<Cause, 'capacity_busy' | 'policy_blocked' | 'redis_unavailable'>;

const decisions = new Counter({
  name: 'gate_decisions_total',
  help: 'Requests for a place by their outcome',
  labelNames: ['cause'],
});
startAtZero(
  decisions,
  ['admitted', 'rotated', 'capacity_busy', 'policy_blocked', 'redis_unavailable'].map((cause) => ({ cause })),
);

export const gateDecisions = {
  inc: ({ cause }: { readonly cause: GateDecision }): void => {
    decisions.inc({ cause });
    log?.note(cause);
  },
};

interface DecisionLog {
  note(cause: GateDecision): void;
}

let log: DecisionLog | undefined;

/** Registers the log that all replicas share. Roles in one process share it, so the newest log wins. */
export function logDecisions(newest: DecisionLog): void {
  log = newest;
}

interface ObservedGate {
  sessions(): Promise<number>;
}

let observed: ObservedGate | undefined;

/** Registers the gate that scrapes read. Roles in one process share a registry, so the newest gate wins. */
export function observeGate(gate: ObservedGate): void {
  observed = gate;
}

new Gauge({
  name: 'gate_sessions',
  help: 'Sessions that have a place',
  async collect() {
    // Without an answer the metric is left out: its previous number would look current.
    const sessions = await observed?.sessions().catch(() => undefined);
    if (sessions === undefined) this.remove();
    else this.set(sessions);
  },
});
