import { randomUUID } from 'node:crypto';
import { createLogger, createRedis, type RedisClient } from '#platform';
import { Coalescer, type GatePolicy, reliabilityConnection, SessionGate } from '#reliability';
import { eventually } from './eventually.js';
import { required } from './servers.js';

export interface Replica {
  readonly redis: RedisClient;
  readonly subscriber: RedisClient;
  readonly coalescer: Coalescer;
  gate(policy: GatePolicy): SessionGate;
}

const logger = createLogger({ level: 'silent', process: 'test' });

/** The session gates and coalescers of several replicas, all in this process. The test has Redis keys of its own. */
export class Replicas {
  private readonly connections: RedisClient[] = [];

  constructor(
    readonly url = required('REDIS_URL'),
    readonly keyPrefix = `t:${randomUUID()}:`,
  ) {}

  /** By default commands time out after 30 s, so that a busy machine does not fail a test. Some tests need a shorter time-out. */
  async start(url = this.url, commandTimeout = 30_000): Promise<Replica> {
    const config = { url, keyPrefix: this.keyPrefix };
    const redis = reliabilityConnection(config, logger, { commandTimeout });
    const subscriber = createRedis(config, logger, { commandTimeout, autoResubscribe: false });
    this.connections.push(redis, subscriber);
    const coalescer = new Coalescer(redis, subscriber, logger);
    await eventually('the connections', () => redis.status === 'ready' && subscriber.status === 'ready');
    return { redis, subscriber, coalescer, gate: (policy) => new SessionGate(redis, policy) };
  }

  end(): void {
    for (const redis of this.connections) redis.disconnect();
  }
}
