import { type Redis } from 'ioredis';
import { type Logger, LuaScript } from '#platform';

/** `beside`: other intents do not matter; `over`: the newest is the only one; `again`: it was, when it was asked first. */
export type Manner = 'beside' | 'over' | 'again';

/** Which flight is meant: hashes, so that no name and no address of anybody stands in Redis. */
export interface FlightName {
  readonly client: string;
  readonly intent: string;
}

export type Joined =
  | { readonly kind: 'lead' }
  | { readonly kind: 'follow'; readonly token: string }
  | { readonly kind: 'done'; readonly outcome: string }
  | { readonly kind: 'superseded' }
  /** Redis is away. */
  | { readonly kind: 'alone' };

export type Renewed =
  | { readonly kind: 'held'; readonly othersWaitMs: number }
  | { readonly kind: 'taken' | 'superseded' | 'alone' };

// A dead leader's followers have four seconds in all, so it must be missed soon. A leader that only slept for so long costs a
// second call, and its outcome is not told to anybody else.
export const LEASE_MS = 1_500;
// Who was not woken looks by then.
const OUTCOME_MS = 5_000;
// After a failure nobody waits for Redis again until this has passed.
const ALONE_MS = 1_000;

const join = new LuaScript<[kind: Exclude<Joined['kind'], 'alone'>, word: string]>(
  import.meta.url,
  './join.lua',
);
const renew = new LuaScript<[kind: 'held' | 'taken' | 'superseded', othersWaitMs: number]>(
  import.meta.url,
  './renew.lua',
);
const finish = new LuaScript<number>(import.meta.url, './finish.lua');

/** Who leads which flight, by Redis' word. Without Redis everybody is alone. */
export class SharedFlights {
  private aloneUntilMs = 0;

  constructor(
    private readonly redis: Redis,
    private readonly channel: string,
    private readonly logger: Logger,
  ) {}

  async join(
    name: FlightName,
    token: string,
    manner: Manner,
    waitMs: number,
    followed = token,
  ): Promise<Joined> {
    const keys = [flightsOf(name), outcomeOf(name, followed)];
    const args = [name.intent, token, LEASE_MS, waitMs, manner, this.channel];
    const answer = await this.ask(() => join.run(this.redis, keys, args));
    if (!answer) return { kind: 'alone' };
    const [kind, word] = answer;
    if (kind === 'follow') return { kind, token: word };
    return kind === 'done' ? { kind, outcome: word } : { kind };
  }

  async renew(name: FlightName, token: string, manner: Manner): Promise<Renewed> {
    const args = [name.intent, token, LEASE_MS, manner];
    const answer = await this.ask(() => renew.run(this.redis, [flightsOf(name)], args));
    if (!answer) return { kind: 'alone' };
    const [kind, othersWaitMs] = answer;
    return kind === 'held' ? { kind, othersWaitMs } : { kind };
  }

  /** Without an outcome another may try. */
  async finish(name: FlightName, token: string, outcome = ''): Promise<void> {
    const keys = [flightsOf(name), outcomeOf(name, token)];
    const args = [name.intent, token, outcome, OUTCOME_MS, this.channel];
    // What cannot be finished ends with its lease.
    await this.ask(() => finish.run(this.redis, keys, args));
  }

  private async ask<T>(question: () => Promise<T>): Promise<T | undefined> {
    if (performance.now() < this.aloneUntilMs) return undefined;
    try {
      return await question();
    } catch (err) {
      if (performance.now() >= this.aloneUntilMs)
        this.logger.warn({ err }, 'requests are shared within the process only');
      this.aloneUntilMs = performance.now() + ALONE_MS;
      return undefined;
    }
  }
}

function flightsOf({ client }: FlightName): string {
  return `coalesce:{${client}}`;
}

function outcomeOf({ client }: FlightName, token: string): string {
  return `coalesce:{${client}}:${token}`;
}
