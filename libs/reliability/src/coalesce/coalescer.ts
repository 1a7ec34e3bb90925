import { createHash, randomUUID } from 'node:crypto';
import { setTimeout as pause } from 'node:timers/promises';
import { Counter, Gauge } from 'prom-client';
import { type Logger, type RedisClient } from '#platform';
import { causeOf, CauseError, type Cause } from '../causes.js';
import { untilAborted } from '../abort.js';
import { Flight, Superseded } from './flight.js';
import { LeaderLease } from './leader-lease.js';
import { type FlightName, type JoinMode, SharedFlights } from './shared-flights.js';
import { WakeUps } from './wake-ups.js';

export interface ShareRequest {
  /** The kind of request, a constant in our code: the `scope` label of the metric. */
  readonly scope: string;
  /** Requests of different clients are never shared. */
  readonly client: string;
  readonly intent: string;
  /** True: this intent ends the client's older intent in this scope with Superseded. */
  readonly supersedes?: boolean;
  readonly deadlineMs: number;
  readonly signal?: AbortSignal;
}

type Work<T> = (signal: AbortSignal) => Promise<T>;

/** The outcome as other processes get it. */
type SharedOutcome = { readonly value?: unknown } | { readonly cause: Cause };

interface SharedWork {
  readonly flight: Flight;
  readonly name: FlightName;
  readonly scope: string;
  readonly mode: JoinMode;
  readonly work: Work<unknown>;
}

type CoalescedPart = 'led' | 'joined' | 'followed' | 'took_over' | 'alone';

const coalesced = new Counter({
  name: 'coalesced_requests_total',
  help: 'Requests that may be shared with identical ones, by their part',
  labelNames: ['scope', 'part'],
});

const flightsNow = new Gauge({
  name: 'coalesced_flights',
  help: 'Flights under way: pieces of work that requests wait for together',
});

// Polling makes up for a lost wake-up and notices a dead leader.
const POLL_MS = 100;

/**
 * Shares one run of the work among identical requests that are under way at the same time, in this process and all others. The
 * leader runs the work, and all requests get the leader's outcome. There is no cache: a request after the end starts a new run.
 *
 * At most one run per (scope, client, intent) at a time. Not guaranteed
 * - after `supersedes`: the superseded run in another process may still be ending when its intent is requested again;
 * - when a leader pauses for longer than its lease (1.5 s): a follower takes over and runs the work a second time;
 * - while Redis is away: one run per process.
 */
export class Coalescer {
  private readonly flights = new Map<string, Flight>();
  private readonly newest = new Map<string, Flight>();
  private readonly wakeUps: WakeUps;
  private readonly shared: SharedFlights;
  private readonly process = randomUUID();
  private tokens = 0;

  /** `subscriber`: a connection used only for subscribing. */
  constructor(redis: RedisClient, subscriber: RedisClient, logger: Logger) {
    const channel = `${redis.options.keyPrefix ?? ''}coalesce`;
    this.wakeUps = new WakeUps(subscriber, channel, logger);
    this.shared = new SharedFlights(redis, channel, logger);
  }

  /**
   * Resolves with the result of `work`. The result must be plain JSON and must not be changed, since callers share it. The signal
   * of `work` aborts when no caller waits any more or when a newer intent supersedes this one; `work` must then end.
   *
   * Rejects with Superseded, DeadlineExceeded, the reason of the request's signal, or the work's own error. In other processes
   * callers get a CauseError in place of the work's own error.
   */
  async share<T>(request: ShareRequest, work: Work<T>): Promise<T> {
    request.signal?.throwIfAborted();
    const key = [request.scope, request.client, request.intent].join('\0');
    const known = this.flights.get(key);
    if (known) coalesced.inc({ scope: request.scope, part: 'joined' });
    const flight = known ?? this.begin(key, request, work);
    return flight.wait(request.deadlineMs, request.signal) as Promise<T>;
  }

  /** Entries in memory, for tests: 0 when no request is under way. */
  get size(): number {
    return this.flights.size + this.newest.size + this.wakeUps.size;
  }

  private begin(
    key: string,
    { scope, client, intent, supersedes, deadlineMs }: ShareRequest,
    work: Work<unknown>,
  ) {
    const owner = `${scope}\0${client}`;
    const flight = new Flight(() => {
      flightsNow.dec();
      if (this.flights.get(key) === flight) this.flights.delete(key);
      if (this.newest.get(owner) === flight) this.newest.delete(owner);
    });
    flightsNow.inc();
    if (supersedes) {
      this.newest.get(owner)?.supersede();
      this.newest.set(owner, flight);
    }
    this.flights.set(key, flight);
    const name = { client: hashOf(owner), intent: hashOf(intent) };
    void this.run({ flight, name, scope, work, mode: supersedes ? 'replace' : 'share' }, deadlineMs);
    return flight;
  }

  private async run(sharedWork: SharedWork, deadlineMs: number): Promise<void> {
    const { flight } = sharedWork;
    try {
      flight.succeed(await this.leadOrFollow(sharedWork, deadlineMs));
    } catch (error) {
      flight.fail(error);
    }
  }

  /** Leads the flight, or follows its leader, until there is an outcome. */
  private async leadOrFollow(sharedWork: SharedWork, deadlineMs: number): Promise<unknown> {
    const { flight, name, scope, work } = sharedWork;
    let { mode } = sharedWork;
    let waitMs = deadlineMs;
    let followed: string | undefined;
    for (;;) {
      const token = this.newToken();
      const joined = await this.shared.join(name, token, mode, waitMs, followed);
      if (flight.signal.aborted) {
        if (joined.kind === 'lead') await this.shared.finish(name, token);
        throw flight.signal.reason;
      }
      switch (joined.kind) {
        case 'superseded':
          throw new Superseded();
        case 'done':
          return valueOf(JSON.parse(joined.outcome) as SharedOutcome);
        case 'alone':
          this.count(scope, 'alone');
          return work(flight.signal);
        case 'lead': {
          this.count(scope, followed ? 'took_over' : 'led');
          const led = await this.lead(sharedWork, token);
          if (led) return led.value;
          break;
        }
        case 'follow':
          if (!followed) this.count(scope, 'followed');
          followed = joined.token;
          await this.waitForWakeUp(flight, followed);
      }
      flight.signal.throwIfAborted();
      if (mode === 'replace') mode = 'retry';
      waitMs = flight.msLeft;
    }
  }

  /** Runs the work under the leader's lease. Returns undefined if another process has taken over the lead. */
  private async lead(
    sharedWork: SharedWork,
    token: string,
  ): Promise<{ readonly value: unknown } | undefined> {
    const { name, work } = sharedWork;
    const lease = new LeaderLease(sharedWork, token, this.shared, this.wakeUps);
    let outcome: string | undefined;
    try {
      // Do not wait for work that ignores its signal.
      const value = await untilAborted(work(lease.signal), lease.signal);
      outcome = JSON.stringify({ value } satisfies SharedOutcome);
      return { value };
    } catch (error) {
      if (lease.isTaken) return undefined;
      if (!lease.signal.aborted) outcome = JSON.stringify({ cause: causeOf(error) } satisfies SharedOutcome);
      throw error;
    } finally {
      lease.end();
      void this.shared.finish(name, token, outcome);
    }
  }

  private async waitForWakeUp(flight: Flight, leader: string): Promise<void> {
    const woken = new AbortController();
    const wake = () => woken.abort();
    const stopListening = this.wakeUps.on(leader, (event) => {
      if (event === 'superseded') flight.supersede();
      wake();
    });
    flight.signal.addEventListener('abort', wake, { once: true });
    // An abort ends the pause early; the caller polls in either case.
    await pause(POLL_MS, undefined, { signal: woken.signal, ref: false }).catch(() => undefined);
    stopListening();
    flight.signal.removeEventListener('abort', wake);
  }

  private newToken(): string {
    this.tokens += 1;
    return `${this.process}:${this.tokens}`;
  }

  private count(scope: string, part: CoalescedPart): void {
    coalesced.inc({ scope, part });
  }
}

function valueOf(outcome: SharedOutcome): unknown {
  if (!('cause' in outcome)) return outcome.value;
  throw outcome.cause === 'superseded' ? new Superseded() : new CauseError(outcome.cause);
}

function hashOf(text: string): string {
  return createHash('sha1').update(text).digest('hex');
}
