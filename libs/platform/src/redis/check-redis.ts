import { Redis, type RedisOptions } from 'ioredis';
import { type Logger } from '../logging/logger.js';
import { ServerNotReady, ServerUnfit } from '../process/server-failure.js';
import {
  infoField,
  modeOf,
  requireFitRedis,
  requireOneMaster,
  requireWholeCluster,
} from './redis-fitness.js';
import { parseRedisUrl, type RedisAddress, type RedisServers } from './redis-url.js';

type Sentinels = Extract<RedisServers, { kind: 'sentinel' }>;
type Nodes = Extract<RedisServers, { kind: 'cluster' }>;
type MasterReply = readonly [host: string, port: string] | null;
type SlotsReply = ReadonlyArray<
  readonly [from: number, to: number, master: readonly [host: string | null, port: number]]
>;

/** One attempt of the check at the start: every server that has our keys must be fit. Throws ServerUnfit if waiting does not help. */
export async function checkRedis(url: string, timeoutMs: number, logger: Logger): Promise<void> {
  const servers = parseRedisUrl(url);
  const options: RedisOptions = {
    lazyConnect: true,
    connectTimeout: timeoutMs,
    commandTimeout: timeoutMs,
    retryStrategy: () => null,
    // Without these options, ioredis would send two commands before ours, and a silent server would cost three timeouts.
    enableReadyCheck: false,
    disableClientInfo: true,
    ...(servers.kind !== 'single' && servers.isTls && { tls: {} }),
  };
  switch (servers.kind) {
    case 'single':
      return onRedis(new Redis(servers.url, options), (redis) => checkSingle(redis, logger));
    case 'sentinel':
      return checkMasterOf(servers, options, logger);
    case 'cluster':
      return checkCluster(servers, { ...options, ...servers.login }, logger);
  }
}

async function checkSingle(redis: Redis, logger: Logger): Promise<void> {
  const info = await redis.info();
  // A Sentinel and a node of a Cluster are told apart before their versions.
  requireOneMaster(info);
  requireFitRedis(info, logger);
}

async function checkMasterOf(sentinels: Sentinels, options: RedisOptions, logger: Logger): Promise<void> {
  const { addresses, login, sentinelLogin, db } = sentinels;
  const master = await firstAnswer(addresses, (address) =>
    onRedis(new Redis({ ...options, ...sentinelLogin, ...address }), (redis) =>
      masterBy(redis, sentinels.master),
    ),
  );
  await onRedis(new Redis({ ...options, ...login, ...master, db }), async (redis) => {
    const info = await redis.info();
    // The Sentinels may be about to name another master.
    if (infoField(info, 'role') === 'slave')
      throw new ServerNotReady('the Sentinels name a replica as the master');
    requireFitRedis(info, logger);
  });
}

async function masterBy(sentinel: Redis, name: string): Promise<RedisAddress> {
  if (modeOf(await sentinel.info('server')) !== 'sentinel')
    throw new ServerUnfit(
      'REDIS_URL names a Redis where a Sentinel is expected: name the Sentinels, or write redis://',
    );
  const reply = (await sentinel.call('SENTINEL', 'get-master-addr-by-name', name)) as MasterReply;
  if (!reply)
    throw new ServerUnfit('The Sentinels do not know the master that REDIS_URL names after the slash');
  return { host: reply[0], port: Number(reply[1]) };
}

async function checkCluster({ addresses }: Nodes, options: RedisOptions, logger: Logger): Promise<void> {
  const masters = await firstAnswer(addresses, (address) =>
    onRedis(new Redis({ ...options, ...address }), async (redis) => {
      if (modeOf(await redis.info('server')) !== 'cluster')
        throw new ServerUnfit('This Redis is not a Cluster: write REDIS_URL as redis://host:port');
      requireWholeCluster(String(await redis.cluster('INFO')));
      return mastersIn((await redis.call('CLUSTER', 'SLOTS')) as SlotsReply, address);
    }),
  );
  for (const address of masters)
    await onRedis(new Redis({ ...options, ...address }), async (redis) =>
      requireFitRedis(await redis.info(), logger),
    );
}

/** A node without a known name has the host of the node that was asked. */
function mastersIn(slots: SlotsReply, asked: RedisAddress): RedisAddress[] {
  const byName = new Map(
    slots.map(([, , [host, port]]) => [`${host} ${port}`, { host: host || asked.host, port }] as const),
  );
  return [...byName.values()];
}

/** Asks one server after the other until one answers. Throws the last error. */
async function firstAnswer<T>(
  addresses: readonly RedisAddress[],
  ask: (address: RedisAddress) => Promise<T>,
): Promise<T> {
  let last: unknown;
  for (const address of addresses) {
    try {
      return await ask(address);
    } catch (error) {
      if (error instanceof ServerUnfit) throw error;
      last = error;
    }
  }
  throw last;
}

async function onRedis<T>(redis: Redis, work: (redis: Redis) => Promise<T>): Promise<T> {
  // The `error` event has the cause. The awaited call rejects only with "connection is closed".
  let failure: Error | undefined;
  redis.on('error', (error: Error) => (failure = error));
  try {
    await redis.connect();
    return await work(redis);
  } catch (error) {
    throw error instanceof ServerUnfit ? error : (failure ?? error);
  } finally {
    redis.disconnect();
  }
}
