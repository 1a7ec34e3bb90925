-- Frees the place of a session that has had no heartbeat since it got the place.
-- KEYS[1] sessions that have a place, scored by their last heartbeat
-- KEYS[2] hash by session: "<ms at which it got its place> <its address>"
-- KEYS[3] hash by address: the number of its places
-- ARGV[1] the session
-- returns the number of freed places
local held = redis.call('HGET', KEYS[2], ARGV[1])
if not held then
  return 0
end
local sinceMs, address = string.match(held, '^(%S+) (.*)$')
if tonumber(redis.call('ZSCORE', KEYS[1], ARGV[1])) ~= tonumber(sinceMs) then
  return 0
end
redis.call('ZREM', KEYS[1], ARGV[1])
redis.call('HDEL', KEYS[2], ARGV[1])
if redis.call('HINCRBY', KEYS[3], address, -1) <= 0 then
  redis.call('HDEL', KEYS[3], address)
end
return 1
