import { createRequire } from 'node:module';
import { once } from 'node:events';
import { Redis } from 'ioredis';
import { peersFolder } from './conditions.js';

// Bottleneck's last release is of 2019, so it is no dependency: bin/bench.mjs installs it below .cache.

interface Limiter {
  ready(): Promise<unknown>;
  schedule(work: () => Promise<void>): Promise<void>;
  chain(next: Limiter): Limiter;
  currentReservoir(): Promise<number | null>;
  disconnect(flush?: boolean): Promise<void>;
}

interface Bottleneck {
  new (options: object): Limiter;
  readonly IORedisConnection: new (options: { readonly client: Redis }) => Pick<Limiter, 'disconnect'>;
}

export interface TwoWindows {
  consume(): Promise<void>;
  /** The permits that both windows have given. */
  given(): Promise<readonly number[]>;
  close(): Promise<void>;
}

/** Two windows as its documentation configures them: a reservoir for each, refreshed at an interval, in Redis, and one chained to the other. */
export async function bottleneckOf(redisUrl: string, reservoir: number): Promise<TwoWindows | undefined> {
  if (!peersFolder) return undefined;
  const load = createRequire(`${peersFolder}/package.json`);
  const Bottleneck = load('bottleneck') as Bottleneck;
  const client = new Redis(redisUrl);
  await once(client, 'ready');
  // The limiters share it, so it outlives them: without its own end, its second connection would keep this process alive.
  const connection = new Bottleneck.IORedisConnection({ client });
  const limiters = [900, 86_400].map(
    (seconds) =>
      new Bottleneck({
        id: `bench-${seconds}`,
        datastore: 'ioredis',
        connection,
        reservoir,
        reservoirRefreshAmount: reservoir,
        reservoirRefreshInterval: seconds * 1_000,
      }),
  ) as [Limiter, Limiter];
  await Promise.all(limiters.map((limiter) => limiter.ready()));
  limiters[0].chain(limiters[1]);
  return {
    consume: () => limiters[0].schedule(() => Promise.resolve()),
    given: async () => {
      const left = await Promise.all(limiters.map((limiter) => limiter.currentReservoir()));
      return left.map((permits) => reservoir - (permits ?? NaN));
    },
    close: async () => {
      for (const limiter of limiters) await limiter.disconnect(false);
      await connection.disconnect(false);
    },
  };
}
