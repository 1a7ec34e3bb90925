import { Cluster, type ClusterOptions, type Command, Redis, type RedisOptions } from 'ioredis';
import { type Config } from '../config/config.js';
import { type Logger } from '../logging/logger.js';
import { parseRedisUrl, type RedisAddress, type RedisServers } from './redis-url.js';

/** A client of one Redis, of the master that Sentinels name, or of a Cluster. */
export type RedisClient = Redis | Cluster;

const CONNECT_TIMEOUT_MS = 1_000;
// This timeout also bounds the wait for a reconnect. A request may wait for a frozen Redis and then for a frozen Postgres (3.1 s), and must
// still be answered within five seconds.
const COMMAND_TIMEOUT_MS = 1_000;
const SOCKET_TIMEOUT_MS = 5_000;
const LONGEST_RECONNECT_PAUSE_MS = 1_000;
// A client of a Cluster asks for the present masters after an error of a command. A subscriber sends no commands, so it asks regularly.
const SLOTS_REFRESH_MS = 10_000;
const RESEND_AFTER_MS = 100;

const retryStrategy = (attempt: number) => Math.min(50 * 2 ** attempt, LONGEST_RECONNECT_PAUSE_MS);

/**
 * Makes a Redis client that adds the key prefix to every key, also to the keys of scripts. A command fails after one second; it may
 * still have been executed. A process that stood still for longer reads the replies that arrived meanwhile first. The client reconnects
 * without limit, after 0.1, 0.2, 0.4, 0.8 s and then every 1 s.
 */
export function createRedis(
  config: Config['redis'],
  logger: Logger,
  options: RedisOptions = {},
): RedisClient {
  const servers = parseRedisUrl(config.url);
  const all: RedisOptions = {
    connectTimeout: CONNECT_TIMEOUT_MS,
    commandTimeout: COMMAND_TIMEOUT_MS,
    maxRetriesPerRequest: 1,
    // A half-open link sends no reset, so a socket without an answer for this long is replaced.
    socketTimeout: SOCKET_TIMEOUT_MS,
    keyPrefix: config.keyPrefix,
    ...options,
  };
  const redis = servers.kind === 'cluster' ? clusterOf(servers, all) : redisOf(servers, all);
  const warn = (err: Error) => logger.warn({ err }, 'redis connection failed');
  redis.on('error', warn);
  if (redis instanceof Cluster) redis.on('node error', warn);
  return redis;
}

function redisOf(servers: Exclude<RedisServers, { kind: 'cluster' }>, options: RedisOptions): Redis {
  const lasting: RedisOptions = {
    retryStrategy,
    // After a failover the old master is a replica and refuses writes, so the client has to reconnect.
    reconnectOnError: (error) => error.message.startsWith('READONLY'),
    ...options,
  };
  if (servers.kind === 'single') return new PatientRedis(servers.url, lasting);
  const { addresses, master, db, login, sentinelLogin, isTls } = servers;
  return new PatientRedis({
    ...lasting,
    ...login,
    sentinels: [...addresses],
    name: master,
    db,
    sentinelUsername: sentinelLogin.username,
    sentinelPassword: sentinelLogin.password,
    sentinelRetryStrategy: retryStrategy,
    // Without this timeout a frozen Sentinel would keep the client from asking the next one.
    sentinelCommandTimeout: CONNECT_TIMEOUT_MS,
    ...(isTls && { tls: {}, sentinelTLS: {}, enableTLSForSentinelMode: true }),
  });
}

function clusterOf(servers: Extract<RedisServers, { kind: 'cluster' }>, options: RedisOptions): Cluster {
  const { addresses, login, isTls } = servers;
  const { keyPrefix, enableOfflineQueue = true, autoResendUnfulfilledCommands = true, ...ofNodes } = options;
  const clusterOptions: ClusterOptions = {
    keyPrefix,
    clusterRetryStrategy: retryStrategy,
    slotsRefreshInterval: SLOTS_REFRESH_MS,
    retryDelayOnFailover: autoResendUnfulfilledCommands ? RESEND_AFTER_MS : 0,
    // A certificate has the host's name, so the name is not replaced by its address.
    dnsLookup: (host, found) => found(null, host),
    redisOptions: { ...ofNodes, ...login, ...(isTls && { tls: {} }) },
  };
  return new BoundedCluster([...addresses], clusterOptions, enableOfflineQueue);
}

// The message of ioredis' own error.
const TIMED_OUT = 'Command timed out';
// Enough to read replies that have arrived, and to send commands that Node has kept back, which Redis answers within a millisecond.
const LAST_READ_MS = 20;

/**
 * If the event loop stood still for longer than a command's timeout, the timer fires before a reply that has arrived is read. So a command
 * times out 20 ms later, after a further turn of the loop.
 */
function readBeforeTimingOut(command: Command): void {
  const { reject } = command;
  command.reject = (error) => {
    if (error.message !== TIMED_OUT) return reject(error);
    setTimeout(() => {
      if (!command.isResolved) reject(error);
    }, LAST_READ_MS);
  };
}

class PatientRedis extends Redis {
  override sendCommand(command: Command, stream?: Parameters<Redis['sendCommand']>[1]) {
    readBeforeTimingOut(command);
    return super.sendCommand(command, stream);
  }
}

/** ioredis applies the timeout of a command only once it has chosen a node. Here the time without a known node counts as well. */
class BoundedCluster extends Cluster {
  constructor(
    addresses: RedisAddress[],
    options: ClusterOptions,
    /** False: commands fail at once while no node is known. */
    private readonly waitsForNodes: boolean,
  ) {
    super(addresses, options);
  }

  override sendCommand(command: Command, stream?: Parameters<Cluster['sendCommand']>[1], node?: unknown) {
    const { commandTimeout } = this.options.redisOptions ?? {};
    readBeforeTimingOut(command);
    if (commandTimeout !== undefined) command.setTimeout(commandTimeout);
    // The client's own check of the Cluster comes before it is ready.
    if (this.waitsForNodes || this.status === 'ready' || command.name === 'cluster')
      return super.sendCommand(command, stream, node);
    command.reject(new Error('Connection is closed.'));
    return command.promise;
  }
}

/**
 * A prefix for keys that one command uses together. In a Cluster it is a hash tag, which puts them into one slot. One Redis needs none, so
 * its keys keep their plain names.
 */
export function slotPrefix(redis: RedisClient, tag: string): string {
  return redis instanceof Cluster ? `{${tag}}:` : '';
}

/** The time in ms, by the clock of Redis; of a Cluster, by the clock of any of its nodes. */
export async function timeOfRedis(redis: RedisClient): Promise<number> {
  const [seconds, microseconds] = await redis.time();
  return Number(seconds) * 1_000 + Number(microseconds) / 1_000;
}
