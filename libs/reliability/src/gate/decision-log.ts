import { DependencyUnavailable, type Logger, LuaScript, type RedisClient } from '#platform';
import { type GateDecision } from './session-gate.js';

const KEY = 'gate:decisions';
const MINUTE_MS = 60_000;
const MINUTES = 60;
const FLUSH_MS = 2_000;

const countDecisions = new LuaScript<number>(import.meta.url, './count-decisions.lua');

/** The decisions of one minute by their cause. */
export interface MinuteOfDecisions {
  readonly at: Date;
  readonly causes: Readonly<Record<string, number>>;
}

/**
 * Counts the gate's decisions of the last hour by minute and cause, over all replicas, in one hash of Redis. It has no personal data. Each
 * replica adds its counts every two seconds. Not guaranteed: a replica that dies loses the counts of two seconds, and counts that could
 * not be written for a while are added to the minute in which Redis is back.
 */
export class DecisionLog {
  private counts = new Map<GateDecision, number>();
  private readonly timer: NodeJS.Timeout;

  constructor(
    private readonly redis: RedisClient,
    private readonly logger: Logger,
  ) {
    this.timer = setInterval(() => void this.flush(), FLUSH_MS);
    this.timer.unref();
  }

  note(cause: GateDecision): void {
    this.counts.set(cause, (this.counts.get(cause) ?? 0) + 1);
  }

  /** Adds the decisions that this replica has counted since the last flush. */
  async flush(): Promise<void> {
    if (this.counts.size === 0) return;
    const counted = this.counts;
    this.counts = new Map();
    try {
      await countDecisions.run(this.redis, [KEY], [MINUTES, ...[...counted].flat()]);
    } catch (err) {
      // A command that timed out may have been executed, so these decisions may be counted twice.
      for (const [cause, count] of counted) this.counts.set(cause, (this.counts.get(cause) ?? 0) + count);
      this.logger.debug({ err }, 'gate decisions not counted yet');
    }
  }

  /** Minutes without a decision are left out. Oldest first. Throws DependencyUnavailable. */
  async lastHour(): Promise<readonly MinuteOfDecisions[]> {
    await this.flush();
    const fields = await this.redis.hgetall(KEY).catch((cause: unknown) => {
      throw new DependencyUnavailable('redis', { cause });
    });
    const minutes = new Map<number, Record<string, number>>();
    for (const [field, count] of Object.entries(fields)) {
      const [minute = '', cause = ''] = field.split(' ');
      const causes = minutes.get(Number(minute)) ?? {};
      causes[cause] = Number(count);
      minutes.set(Number(minute), causes);
    }
    const newest = Math.max(...minutes.keys(), Math.floor(Date.now() / MINUTE_MS));
    return [...minutes]
      .filter(([minute]) => minute > newest - MINUTES)
      .sort(([one], [other]) => one - other)
      .map(([minute, causes]) => ({ at: new Date(minute * MINUTE_MS), causes }));
  }

  async close(): Promise<void> {
    clearInterval(this.timer);
    await this.flush();
  }
}
