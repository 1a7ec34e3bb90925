// For specs only.
import { type RedisClient } from '#platform';

const keyOf = (pool: string) => `gate:{${pool}}:places`;
const holdersOf = (pool: string) => `gate:{${pool}}:holders`;
const addressesOf = (pool: string) => `gate:{${pool}}:addresses`;
const refusedOf = (pool: string) => `gate:{${pool}}:refused`;

/** Moves each session's last heartbeat, admission and refusal back by `ms`. */
export async function passTime(redis: RedisClient, pool: string, ms: number): Promise<void> {
  const shift = `
    for _, session in ipairs(redis.call('ZRANGE', KEYS[1], 0, -1)) do
      redis.call('ZINCRBY', KEYS[1], -ARGV[1], session)
      local sinceMs, address = string.match(redis.call('HGET', KEYS[2], session) or '', '^(%S+) (.*)$')
      if sinceMs then
        redis.call('HSET', KEYS[2], session, (sinceMs - ARGV[1]) .. ' ' .. address)
      end
    end
    for _, session in ipairs(redis.call('ZRANGE', KEYS[3], 0, -1)) do
      redis.call('ZINCRBY', KEYS[3], -ARGV[1], session)
    end`;
  await redis.eval(shift, 3, keyOf(pool), holdersOf(pool), refusedOf(pool), ms);
}

/** Sets heartbeats and admissions later than `atMs` to `atMs`, so that the model's clock stands still. */
export async function holdTime(redis: RedisClient, pool: string, atMs: number): Promise<void> {
  const hold = `
    for _, session in ipairs(redis.call('ZRANGEBYSCORE', KEYS[1], '(' .. ARGV[1], '+inf')) do
      redis.call('ZADD', KEYS[1], ARGV[1], session)
      local sinceMs, address = string.match(redis.call('HGET', KEYS[2], session), '^(%S+) (.*)$')
      if tonumber(sinceMs) > tonumber(ARGV[1]) then
        redis.call('HSET', KEYS[2], session, ARGV[1] .. ' ' .. address)
      end
    end`;
  await redis.eval(hold, 2, keyOf(pool), holdersOf(pool), atMs);
}

export async function placesOf(redis: RedisClient, pool: string): Promise<string[]> {
  return (await redis.zrange(keyOf(pool), 0, -1)).sort();
}

/** The number of places of each address, from the counters that admit.lua uses. */
export async function sharesOf(redis: RedisClient, pool: string): Promise<Record<string, number>> {
  const counts = await redis.hgetall(addressesOf(pool));
  return Object.fromEntries(Object.entries(counts).map(([address, places]) => [address, Number(places)]));
}

export async function forgetAll(redis: RedisClient, pool: string): Promise<void> {
  await redis.del(keyOf(pool), holdersOf(pool), addressesOf(pool), refusedOf(pool));
}

export async function redisNowMs(redis: RedisClient): Promise<number> {
  const [seconds, micros] = await redis.time();
  return Number(seconds) * 1_000 + Math.floor(Number(micros) / 1_000);
}
