-- Decides on sessions that want a place in a pool, one after the other.
-- KEYS[1] sessions that have a place, scored by when they were last heard of
-- ARGV[1] how many places there are
-- ARGV[2] ms of silence after which a place may go to another
-- ARGV[3] ms of silence after which a session is forgotten
-- ARGV[4…] the sessions
-- returns for each of them 0: it has a place; or who lost it to them; or, without one, ms until one can become free
local clock = redis.call('TIME')
local nowMs = clock[1] * 1000 + math.floor(clock[2] / 1000)
local places, keptMs, forgottenMs = tonumber(ARGV[1]), tonumber(ARGV[2]), tonumber(ARGV[3])

-- A clock that was set back would keep the places of before for that much longer.
local newest = redis.call('ZRANGE', KEYS[1], -1, -1, 'WITHSCORES')
if newest[2] and tonumber(newest[2]) > nowMs then
  for _, session in ipairs(redis.call('ZRANGEBYSCORE', KEYS[1], '(' .. nowMs, '+inf')) do
    redis.call('ZADD', KEYS[1], nowMs, session)
  end
end

redis.call('ZREMRANGEBYSCORE', KEYS[1], '-inf', nowMs - forgottenMs)
local taken = redis.call('ZCARD', KEYS[1])

local function decide(session)
  if taken < places then
    taken = taken + redis.call('ZADD', KEYS[1], nowMs, session)
    return 0
  end
  if redis.call('ZSCORE', KEYS[1], session) then
    redis.call('ZADD', KEYS[1], nowMs, session)
    return 0
  end
  -- One has to go; more where there were more places yesterday. Of those that fell silent together the first by name.
  local goners = taken - places + 1
  local oldest = redis.call('ZRANGE', KEYS[1], 0, goners - 1, 'WITHSCORES')
  local freeInMs = tonumber(oldest[2 * goners]) + keptMs - nowMs
  if freeInMs > 0 then
    return freeInMs
  end
  redis.call('ZREMRANGEBYRANK', KEYS[1], 0, goners - 1)
  redis.call('ZADD', KEYS[1], nowMs, session)
  taken = places
  return oldest[1]
end

local answers = {}
for index = 4, #ARGV do
  answers[index - 3] = decide(ARGV[index])
end
redis.call('PEXPIRE', KEYS[1], forgottenMs)
return answers
