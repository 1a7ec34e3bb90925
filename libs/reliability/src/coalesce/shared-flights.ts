import { type Logger, LuaScript, type RedisClient } from '#platform';

/**
 * `share`: other intents of the client do not matter. `replace`: this intent supersedes older intents. `retry`: a repeated
 * `replace`; a newer intent wins over it.
 */
export type JoinMode = 'share' | 'replace' | 'retry';

/** The name of a flight, as hashes: no client name or address is stored in Redis. */
export interface FlightName {
  readonly client: string;
  readonly intent: string;
}

type Joined =
  | { readonly kind: 'lead' }
  | { readonly kind: 'follow'; readonly token: string }
  | { readonly kind: 'done'; readonly outcome: string }
  | { readonly kind: 'superseded' }
  /** Redis is away: requests are shared within the process only. */
  | { readonly kind: 'alone' };

type Renewed =
  | { readonly kind: 'held'; readonly othersWaitMs: number }
  | { readonly kind: 'taken' | 'superseded' | 'alone' };

// Followers have four seconds in all, so a dead leader must be noticed soon. If a leader only pauses for longer than its lease, the
// work is run a second time and the paused leader's outcome is not shared.
export const LEASE_MS = 1_500;
// An outcome is kept for this long. A follower that missed the wake-up polls within this time.
const OUTCOME_MS = 5_000;
// After a failure Redis is not used for this long, so that only the first caller waits for the command timeout.
const ALONE_MS = 1_000;

const join = new LuaScript<[kind: Exclude<Joined['kind'], 'alone'>, value: string]>(
  import.meta.url,
  './join.lua',
);
const renew = new LuaScript<[kind: 'held' | 'taken' | 'superseded', othersWaitMs: number]>(
  import.meta.url,
  './renew.lua',
);
const finish = new LuaScript<number>(import.meta.url, './finish.lua');

/**
 * Elects the leader of each flight in Redis, holds the leader's lease and passes the leader's outcome to followers. Without Redis
 * every caller gets `alone`, and requests are shared within the process only.
 */
export class SharedFlights {
  private aloneUntilMs = 0;

  constructor(
    private readonly redis: RedisClient,
    private readonly channel: string,
    private readonly logger: Logger,
  ) {}

  async join(
    name: FlightName,
    token: string,
    mode: JoinMode,
    waitMs: number,
    followed = token,
  ): Promise<Joined> {
    const keys = [flightsOf(name), outcomeOf(name, followed)];
    const args = [name.intent, token, LEASE_MS, waitMs, mode, this.channel];
    const answer = await this.orAlone(() => join.run(this.redis, keys, args));
    if (!answer) return { kind: 'alone' };
    const [kind, value] = answer;
    if (kind === 'follow') return { kind, token: value };
    return kind === 'done' ? { kind, outcome: value } : { kind };
  }

  async renew(name: FlightName, token: string, mode: JoinMode): Promise<Renewed> {
    const args = [name.intent, token, LEASE_MS, mode];
    const answer = await this.orAlone(() => renew.run(this.redis, [flightsOf(name)], args));
    if (!answer) return { kind: 'alone' };
    const [kind, othersWaitMs] = answer;
    return kind === 'held' ? { kind, othersWaitMs } : { kind };
  }

  /** Ends the flight. Without an outcome, a follower takes the lead and tries again. */
  async finish(name: FlightName, token: string, outcome = ''): Promise<void> {
    const keys = [flightsOf(name), outcomeOf(name, token)];
    const args = [name.intent, token, outcome, OUTCOME_MS, this.channel];
    // If Redis is away, the flight in Redis ends when its lease ends.
    await this.orAlone(() => finish.run(this.redis, keys, args));
  }

  private async orAlone<T>(command: () => Promise<T>): Promise<T | undefined> {
    if (performance.now() < this.aloneUntilMs) return undefined;
    try {
      return await command();
    } catch (err) {
      if (performance.now() >= this.aloneUntilMs)
        this.logger.warn({ err }, 'Redis is away: requests are coalesced within this process only');
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
