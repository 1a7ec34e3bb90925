import { Cluster } from 'ioredis';
import { type Logger } from '../logging/logger.js';
import { requireVersion, ServerNotReady, ServerUnfit } from '../process/server-failure.js';
import { type RedisClient } from './redis.js';

/**
 * Throws ServerUnfit for a Cluster node, a Sentinel or a replica behind `redis://`. All of them answer PING. A Sentinel and a replica refuse
 * our writes. A Cluster node refuses writes to slots of other nodes.
 */
export function requireOneMaster(info: string): void {
  if (modeOf(info) === 'cluster')
    throw new ServerUnfit('This Redis is a node of a Cluster: write REDIS_URL as redis+cluster://host:port');
  if (modeOf(info) === 'sentinel')
    throw new ServerUnfit(
      'This is a Redis Sentinel, not a Redis: write REDIS_URL as redis+sentinel://host:port/NAME-OF-THE-MASTER',
    );
  if (infoField(info, 'role') === 'slave')
    throw new ServerUnfit(
      'This Redis is a replica: name its master, an address that follows the master, or its Sentinels',
    );
}

/** Throws ServerNotReady if a part of the keys has no node that serves them. `info` is the answer to CLUSTER INFO. */
export function requireWholeCluster(info: string): void {
  const state = infoField(info, 'cluster_state');
  if (state !== 'ok')
    throw new ServerNotReady(`the Cluster does not serve all slots (cluster_state ${state})`);
}

/** Checks version, state and memory policy of one server that has our keys. `info` is the answer to INFO. */
export function requireFitRedis(info: string, logger: Logger): void {
  requireVersion('Redis', infoField(info, 'redis_version'), [6, 2, 0]);
  if (infoField(info, 'loading') === '1') throw new ServerNotReady('it is still loading its data');
  const policy = infoField(info, 'maxmemory_policy');
  // With another policy, Redis could evict queue entries and budget counters. Without a counter, we would exceed the limit of a vendor and
  // get no error.
  if (policy && policy !== 'noeviction' && Number(infoField(info, 'maxmemory')) > 0)
    throw new ServerUnfit(`Redis evicts keys (maxmemory-policy ${policy}): set it to noeviction`);
  if (policy && policy !== 'noeviction')
    logger.warn({ policy }, 'redis maxmemory-policy should be noeviction');
}

// The value does not matter. The key expires when no process probes any more.
const PROBE_KEY = 'readiness';
const PROBE_LIVES_MS = 60_000;

/** Readiness probe. It writes a key, because a server that is full or read-only still answers PING. In a Cluster it writes to one master only. */
export async function probeRedis(redis: RedisClient): Promise<void> {
  // The role is checked first: a Cluster node, a Sentinel and a replica refuse the write with different errors.
  if (redis instanceof Cluster) requireWholeCluster(String(await redis.cluster('INFO')));
  else requireOneMaster(await redis.info());
  await redis.set(PROBE_KEY, '1', 'PX', PROBE_LIVES_MS);
}

/** `standalone`, `sentinel` or `cluster`. Valkey has a field of its own. */
export function modeOf(info: string): string {
  return infoField(info, 'redis_mode') || infoField(info, 'server_mode');
}

export function infoField(info: string, name: string): string {
  return new RegExp(`^${name}:(.*?)\\r?$`, 'm').exec(info)?.[1] ?? '';
}
