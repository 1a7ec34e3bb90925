import { setTimeout as pause } from 'node:timers/promises';
import { NatsCluster } from '../../harness/nats-cluster.js';
import { NatsServer } from '../../harness/nats-server.js';
import { PostgresServer } from '../../harness/postgres-server.js';
import { Proxy } from '../../harness/proxy.js';
import { RedisCluster } from '../../harness/redis-cluster.js';
import { RedisServer } from '../../harness/redis-server.js';
import { PostgresPair } from '../postgres-pair.js';
import { CORE_STREAM } from '#platform';

/** A server, or a cluster of one kind. Both faults end when it is whole again. */
export interface Engine {
  readonly name: string;
  /** Kills it (of a cluster, the node that leads) and starts it again after `awayMs`. */
  restart(awayMs: number): Promise<void>;
  freeze(forMs: number): Promise<void>;
}

interface EngineUrls {
  readonly DATABASE_URL: string;
  readonly REDIS_URL: string;
  readonly NATS_URL: string;
}

export interface Engines {
  /** Variables of the processes. */
  readonly env: EngineUrls & Readonly<Record<string, string>>;
  readonly servers: readonly Engine[];
  /** The Postgres server that takes writes now, and the NATS servers, as the oracle reaches them. */
  readonly databaseUrl: () => string;
  readonly natsUrls: readonly string[];
  stop(): Promise<void>;
}

/** Single servers. `aheadMs`: how far their clocks are ahead of those of the vendors and of NATS. */
export async function singleEngines(aheadMs = { postgres: 0, redis: 0 }): Promise<Engines> {
  const [postgres, redis, nats] = await Promise.all([
    PostgresServer.startAhead(aheadMs.postgres),
    RedisServer.startAhead(aheadMs.redis),
    NatsServer.start(),
  ]);
  const restart = async (server: PostgresServer | RedisServer | NatsServer, awayMs: number) => {
    await server.kill();
    await pause(awayMs);
    await server.start();
  };
  return {
    env: { DATABASE_URL: postgres.url, REDIS_URL: redis.url, NATS_URL: nats.url },
    databaseUrl: () => postgres.url,
    natsUrls: [nats.url],
    servers: [
      {
        name: 'Postgres',
        restart: (awayMs) => restart(postgres, awayMs),
        freeze: async (forMs) => {
          postgres.signalAll('SIGSTOP');
          await pause(forMs);
          postgres.signalAll('SIGCONT');
        },
      },
      // Redis keeps nothing, so it comes back empty.
      { name: 'Redis', restart: (awayMs) => restart(redis, awayMs), freeze: (forMs) => frozen(redis, forMs) },
      { name: 'NATS', restart: (awayMs) => restart(nats, awayMs), freeze: (forMs) => frozen(nats, forMs) },
    ],
    stop: async () => {
      await Promise.all([postgres.stop(), redis.kill(), nats.stop()]);
    },
  };
}

/** Single servers, each behind a proxy that all processes use. The oracle reaches the servers themselves. */
export async function proxiedEngines(): Promise<{ engines: Engines; proxies: Record<string, Proxy> }> {
  const direct = await singleEngines();
  const { DATABASE_URL, REDIS_URL, NATS_URL } = direct.env;
  const proxies = {
    Postgres: await Proxy.before(DATABASE_URL),
    Redis: await Proxy.before(REDIS_URL),
    NATS: await Proxy.before(NATS_URL),
  };
  const env = {
    DATABASE_URL: proxies.Postgres.url,
    REDIS_URL: proxies.Redis.url,
    NATS_URL: proxies.NATS.url,
  };
  const stop = async () => {
    await Promise.all(Object.values(proxies).map((proxy) => proxy.close()));
    await direct.stop();
  };
  return { engines: { ...direct, env, natsUrls: [NATS_URL], stop }, proxies };
}

/** Six nodes of Redis, three of NATS, and a primary of Postgres with a synchronous standby. */
export async function clusteredEngines(): Promise<Engines> {
  const [pair, redis, nats] = await Promise.all([
    PostgresPair.start('several hosts'),
    RedisCluster.start(1),
    NatsCluster.start(3),
  ]);
  const leader = async () => nats.servers.get(await nats.leaderOf(CORE_STREAM)) as NatsServer;
  const failOver = async (fault: 'SIGKILL' | 'SIGSTOP', forMs: number) => {
    await pair.failOver(fault);
    await pause(forMs);
    pair.wake(fault);
    await pair.rejoin();
  };
  return {
    env: {
      DATABASE_URL: pair.urls.DATABASE_URL,
      REDIS_URL: redis.url,
      NATS_URL: nats.url,
      NATS_REPLICAS: '3',
    },
    databaseUrl: () => pair.url,
    natsUrls: nats.url.split(','),
    servers: [
      {
        name: 'Postgres',
        restart: (awayMs) => failOver('SIGKILL', awayMs),
        freeze: (forMs) => failOver('SIGSTOP', forMs),
      },
      {
        name: 'Redis',
        restart: async (awayMs) => {
          const master = await redis.masterOf('{strava}');
          await master.crash();
          await pause(awayMs);
          await master.start();
          await redis.isWhole();
        },
        freeze: async (forMs) => {
          await frozen(await redis.masterOf('{strava}'), forMs);
          await redis.isWhole();
        },
      },
      {
        name: 'NATS',
        restart: async (awayMs) => {
          const server = await leader();
          await server.kill();
          await pause(awayMs);
          await server.start();
        },
        freeze: async (forMs) => frozen(await leader(), forMs),
      },
    ],
    stop: async () => {
      await Promise.all([pair.stop(), redis.stop(), nats.stop()]);
    },
  };
}

async function frozen(server: RedisServer | NatsServer, forMs: number): Promise<void> {
  server.freeze();
  await pause(forMs);
  server.thaw();
}
