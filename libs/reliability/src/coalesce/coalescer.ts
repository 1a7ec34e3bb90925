import { createHash, randomUUID } from 'node:crypto';
import { setTimeout as pause } from 'node:timers/promises';
import { type Redis } from 'ioredis';
import { type Logger } from '#platform';
import { causeOf, CauseError, type Cause } from '../causes.js';
import { untilAborted } from '../until-aborted.js';
import { coalesced, flightsNow, type Part } from './coalesce-metrics.js';
import { Superseded } from './coalesce.errors.js';
import { Flight } from './flight.js';
import { type FlightName, LEASE_MS, type Manner, SharedFlights } from './shared-flights.js';
import { WakeUps } from './wake-ups.js';

export interface Ask {
  /** What is asked for: a name in our code, the label of the metric. */
  readonly scope: string;
  /** Nothing is ever shared with another. */
  readonly client: string;
  readonly intent: string;
  /** The client wants one thing at a time: an older intent of this scope is given up. */
  readonly supersedes?: boolean;
  readonly deadlineMs: number;
  readonly signal?: AbortSignal;
}

export type Work<T> = (signal: AbortSignal) => Promise<T>;

/** What is told to other processes. */
type Outcome = { readonly value?: unknown } | { readonly cause: Cause };

interface Undertaking {
  readonly flight: Flight;
  readonly name: FlightName;
  readonly scope: string;
  readonly manner: Manner;
  readonly work: Work<unknown>;
}

const RENEW_MS = LEASE_MS / 3;
// For a wake-up that was lost, and for a leader that died.
const LOOK_EVERY_MS = 100;

/**
 * Identical requests of one client that are under way at the same time are one, in this process and in all others: one of them
 * does the work, and all get what came of it. It is not a cache: whoever asks after the end begins anew.
 */
export class Coalescer {
  private readonly flights = new Map<string, Flight>();
  private readonly newest = new Map<string, Flight>();
  private readonly wakeUps: WakeUps;
  private readonly shared: SharedFlights;
  private readonly process = randomUUID();
  private tokens = 0;

  /** `ears`: a connection of its own, which does nothing but listen. */
  constructor(redis: Redis, ears: Redis, logger: Logger) {
    const channel = `${redis.options.keyPrefix ?? ''}coalesce`;
    this.wakeUps = new WakeUps(ears, channel, logger);
    this.shared = new SharedFlights(redis, channel, logger);
  }

  /**
   * `work` runs at most once at a time for a client's intent, wherever it is asked (but one that was superseded elsewhere may
   * still be ending when the same is asked for again); its JSON-able result is shared and must not be changed. Its signal ends when nobody waits any more or a newer intent has taken its place: `work` must end too.
   * Rejects with Superseded, DeadlineExceeded, the reason of the asker's signal, or the work's own error, of which other
   * processes hear the cause alone (CauseError).
   */
  async share<T>(ask: Ask, work: Work<T>): Promise<T> {
    ask.signal?.throwIfAborted();
    const key = [ask.scope, ask.client, ask.intent].join('\0');
    const known = this.flights.get(key);
    if (known) coalesced.inc({ scope: ask.scope, part: 'joined' });
    const flight = known ?? this.begin(key, ask, work);
    return flight.wait(ask.deadlineMs, ask.signal) as Promise<T>;
  }

  /** What it remembers: nothing, when nothing is under way. */
  get size(): number {
    return this.flights.size + this.newest.size + this.wakeUps.size;
  }

  private begin(key: string, { scope, client, intent, supersedes, deadlineMs }: Ask, work: Work<unknown>) {
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
    void this.fly({ flight, name, scope, work, manner: supersedes ? 'over' : 'beside' }, deadlineMs);
    return flight;
  }

  private async fly(undertaking: Undertaking, deadlineMs: number): Promise<void> {
    const { flight } = undertaking;
    try {
      flight.succeed(await this.obtain(undertaking, deadlineMs));
    } catch (error) {
      flight.fail(error);
    }
  }

  /** Leads the flight or follows who leads it, until there is an outcome. */
  private async obtain(undertaking: Undertaking, deadlineMs: number): Promise<unknown> {
    const { flight, name, scope, work } = undertaking;
    let { manner } = undertaking;
    let waitMs = deadlineMs;
    let followed: string | undefined;
    for (;;) {
      const token = this.newToken();
      const joined = await this.shared.join(name, token, manner, waitMs, followed);
      if (flight.signal.aborted) {
        if (joined.kind === 'lead') await this.shared.finish(name, token);
        throw flight.signal.reason;
      }
      switch (joined.kind) {
        case 'superseded':
          throw new Superseded();
        case 'done':
          return valueOf(JSON.parse(joined.outcome) as Outcome);
        case 'alone':
          this.count(scope, 'alone');
          return work(flight.signal);
        case 'lead': {
          this.count(scope, followed ? 'took_over' : 'led');
          const led = await this.lead(undertaking, token);
          if (led) return led.value;
          break;
        }
        case 'follow':
          if (!followed) this.count(scope, 'followed');
          followed = joined.token;
          await this.untilWoken(flight, followed);
      }
      flight.signal.throwIfAborted();
      if (manner === 'over') manner = 'again';
      waitMs = flight.msLeft;
    }
  }

  /** Does the work while it holds the lease; nothing where another has taken that over. */
  private async lead(
    undertaking: Undertaking,
    token: string,
  ): Promise<{ readonly value: unknown } | undefined> {
    const { name, work } = undertaking;
    const lead = new Lead(undertaking, token, this.shared, this.wakeUps);
    let outcome: string | undefined;
    try {
      // Work that pays no heed to its signal is not waited for.
      const value = await untilAborted(work(lead.signal), lead.signal);
      outcome = JSON.stringify({ value } satisfies Outcome);
      return { value };
    } catch (error) {
      if (lead.isTaken) return undefined;
      if (!lead.signal.aborted) outcome = JSON.stringify({ cause: causeOf(error) } satisfies Outcome);
      throw error;
    } finally {
      lead.end();
      void this.shared.finish(name, token, outcome);
    }
  }

  private async untilWoken(flight: Flight, leader: string): Promise<void> {
    const woken = new AbortController();
    const wake = () => woken.abort();
    const stopListening = this.wakeUps.on(leader, (word) => {
      if (word === 'superseded') flight.supersede();
      wake();
    });
    flight.signal.addEventListener('abort', wake, { once: true });
    // Woken or not, it looks then.
    await pause(LOOK_EVERY_MS, undefined, { signal: woken.signal, ref: false }).catch(() => undefined);
    stopListening();
    flight.signal.removeEventListener('abort', wake);
  }

  private newToken(): string {
    this.tokens += 1;
    return `${this.process}:${this.tokens}`;
  }

  private count(scope: string, part: Part): void {
    coalesced.inc({ scope, part });
  }
}

/** The lease of one flight while its work is done, and what ends that work early. */
class Lead {
  isTaken = false;
  private readonly stop = new AbortController();
  private readonly renewal: NodeJS.Timeout;
  private readonly stopListening: () => void;
  private readonly onOver = () => void this.afterFlight();

  constructor(
    private readonly undertaking: Undertaking,
    private readonly token: string,
    private readonly shared: SharedFlights,
    wakeUps: WakeUps,
  ) {
    this.renewal = setInterval(() => void this.renew(), RENEW_MS).unref();
    this.stopListening = wakeUps.on(token, () => this.supersede());
    undertaking.flight.signal.addEventListener('abort', this.onOver, { once: true });
  }

  get signal(): AbortSignal {
    return this.stop.signal;
  }

  end(): void {
    clearInterval(this.renewal);
    this.stopListening();
    this.undertaking.flight.signal.removeEventListener('abort', this.onOver);
  }

  private async renew(): Promise<void> {
    const { flight, name, manner } = this.undertaking;
    const renewed = await this.shared.renew(name, this.token, manner);
    if (renewed.kind === 'superseded') return this.supersede();
    if (renewed.kind === 'taken') {
      this.isTaken = true;
      this.stop.abort();
      return;
    }
    const isWaitedFor = renewed.kind === 'held' && renewed.othersWaitMs > 0;
    if (flight.signal.aborted && !isWaitedFor) this.stop.abort(flight.signal.reason);
  }

  /** Here it is over. Superseded it is so everywhere; deserted only where nobody waits elsewhere. */
  private async afterFlight(): Promise<void> {
    const { reason } = this.undertaking.flight.signal as { reason: unknown };
    if (reason instanceof Superseded) this.stop.abort(reason);
    else await this.renew();
  }

  private supersede(): void {
    this.undertaking.flight.supersede();
    this.stop.abort(new Superseded());
  }
}

function valueOf(outcome: Outcome): unknown {
  if (!('cause' in outcome)) return outcome.value;
  throw outcome.cause === 'superseded' ? new Superseded() : new CauseError(outcome.cause);
}

function hashOf(text: string): string {
  return createHash('sha1').update(text).digest('hex');
}
