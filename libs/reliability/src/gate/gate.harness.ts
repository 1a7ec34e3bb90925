// For specs only.
import { type Redis } from 'ioredis';

const keyOf = (pool: string) => `gate:{${pool}}:sessions`;

/** As if that much time had gone by since each session was heard of. */
export async function passTime(redis: Redis, pool: string, ms: number): Promise<void> {
  const shift = `
    for _, session in ipairs(redis.call('ZRANGE', KEYS[1], 0, -1)) do
      redis.call('ZINCRBY', KEYS[1], -ARGV[1], session)
    end`;
  await redis.eval(shift, 1, keyOf(pool), ms);
}

/** As if everybody heard of since then had been so in that very moment: real time does not pass in a model. */
export async function holdTime(redis: Redis, pool: string, atMs: number): Promise<void> {
  const hold = `
    for _, session in ipairs(redis.call('ZRANGEBYSCORE', KEYS[1], '(' .. ARGV[1], '+inf')) do
      redis.call('ZADD', KEYS[1], ARGV[1], session)
    end`;
  await redis.eval(hold, 1, keyOf(pool), atMs);
}

export async function placesOf(redis: Redis, pool: string): Promise<string[]> {
  return (await redis.zrange(keyOf(pool), 0, -1)).sort();
}

export async function forgetAll(redis: Redis, pool: string): Promise<void> {
  await redis.del(keyOf(pool));
}

export async function redisNowMs(redis: Redis): Promise<number> {
  const [seconds, micros] = await redis.time();
  return Number(seconds) * 1_000 + Math.floor(Number(micros) / 1_000);
}
