-- Takes a slot for one prompt fetch within the limits of its athlete.
-- KEYS[1] the athlete's attempts under way; the score is the time at which an attempt counts as dead
-- KEYS[2] number of the athlete's attempts in this window
-- ARGV[1] id of the attempt
-- ARGV[2] most attempts at once
-- ARGV[3] most attempts in a window
-- ARGV[4] longest duration of an attempt in ms
-- ARGV[5] length of a window in ms
-- returns 0: slot taken; 1: too many attempts under way; 2: too many attempts in this window
local clock = redis.call('TIME')
local nowMs = clock[1] * 1000 + math.floor(clock[2] / 1000)
if tonumber(redis.call('GET', KEYS[2]) or 0) >= tonumber(ARGV[3]) then
  return 2
end
redis.call('ZREMRANGEBYSCORE', KEYS[1], '-inf', nowMs)
if redis.call('ZCARD', KEYS[1]) >= tonumber(ARGV[2]) then
  return 1
end
redis.call('ZADD', KEYS[1], nowMs + ARGV[4], ARGV[1])
-- The key lives as long as its last attempt: an earlier attempt may have more time than this one.
redis.call('PEXPIREAT', KEYS[1], redis.call('ZRANGE', KEYS[1], -1, -1, 'WITHSCORES')[2])
if redis.call('INCR', KEYS[2]) == 1 then
  redis.call('PEXPIRE', KEYS[2], ARGV[5])
end
return 0
