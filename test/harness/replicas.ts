import { randomUUID } from 'node:crypto';
import { type Redis } from 'ioredis';
import { createLogger, createRedis } from '#platform';
import { Coalescer, type GatePolicy, reliabilityConnection, SessionGate } from '#reliability';
import { eventually } from './eventually.js';
import { required } from './servers.js';

export interface Replica {
  readonly redis: Redis;
  readonly ears: Redis;
  readonly coalescer: Coalescer;
  gate(policy: GatePolicy): SessionGate;
}

const logger = createLogger({ level: 'silent', process: 'test' });

/** Replicas of the product as far as they share gates and requests, with a Redis' keys of their own. */
export class Replicas {
  private readonly connections: Redis[] = [];

  constructor(
    readonly url = required('REDIS_URL'),
    readonly keyPrefix = `t:${randomUUID()}:`,
  ) {}

  /** A busy machine is not what is tested: a command has long, unless told otherwise. */
  async start(url = this.url, commandTimeout = 30_000): Promise<Replica> {
    const config = { url, keyPrefix: this.keyPrefix };
    const redis = reliabilityConnection(config, logger, { commandTimeout });
    const ears = createRedis(config, logger, { commandTimeout, autoResubscribe: false });
    this.connections.push(redis, ears);
    const coalescer = new Coalescer(redis, ears, logger);
    await eventually('the connections', () => redis.status === 'ready' && ears.status === 'ready');
    return { redis, ears, coalescer, gate: (policy) => new SessionGate(redis, policy) };
  }

  end(): void {
    for (const redis of this.connections) redis.disconnect();
  }
}
