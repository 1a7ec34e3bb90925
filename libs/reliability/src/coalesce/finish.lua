-- Ends a flight and wakes its followers in other processes. If no follower waits, no outcome is stored.
-- KEYS[1] the client's flights, as in join.lua
-- KEYS[2] the outcome of the flight
-- ARGV[1] the intent
-- ARGV[2] the leader's token
-- ARGV[3] the outcome; empty: none, a follower tries again
-- ARGV[4] ms for which followers may read the outcome
-- ARGV[5] the channel that wakes followers
-- returns 1, or 0 if another process has taken over
local flight = redis.call('HGET', KEYS[1], ARGV[1])
local token, _, othersUntilMs
if flight then
  token, _, othersUntilMs = string.match(flight, '^(%S+) (%d+) (%d+)$')
end
if token ~= ARGV[2] then
  return 0
end
redis.call('HDEL', KEYS[1], ARGV[1])
if redis.call('HGET', KEYS[1], 'latest') == ARGV[1] then
  redis.call('HDEL', KEYS[1], 'latest')
end
local clock = redis.call('TIME')
if tonumber(othersUntilMs) > clock[1] * 1000 + math.floor(clock[2] / 1000) then
  if ARGV[3] ~= '' then
    redis.call('SET', KEYS[2], ARGV[3], 'PX', ARGV[4])
  end
  redis.call('PUBLISH', ARGV[5], token .. ' ended')
end
return 1
