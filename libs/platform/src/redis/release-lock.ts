import { LuaScript } from './lua-script.js';
import { type RedisClient } from './redis.js';

const release = new LuaScript<number>(import.meta.url, './release-lock.lua');

/** Deletes the key only if its value is still this token. After the lease has ended, another owner may hold the lock. */
export async function releaseLock(redis: RedisClient, key: string, token: string): Promise<void> {
  await release.run(redis, [key], [token]);
}
