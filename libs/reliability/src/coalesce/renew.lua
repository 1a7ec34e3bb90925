-- Renews the lease of the leader of a flight.
-- KEYS[1] the client's flights, as in join.lua
-- ARGV[1] the intent
-- ARGV[2] the leader's token
-- ARGV[3] ms of a lease
-- ARGV[4] share, replace or retry, as in join.lua
-- returns {held, ms for which followers wait}, {taken, 0} if another process leads, or {superseded, 0}
local clock = redis.call('TIME')
local nowMs = clock[1] * 1000 + math.floor(clock[2] / 1000)

local othersUntilMs = 0
local flight = redis.call('HGET', KEYS[1], ARGV[1])
if flight then
  local token, _, untilMs = string.match(flight, '^(%S+) (%d+) (%d+)$')
  if token ~= ARGV[2] then
    return { 'taken', 0 }
  end
  othersUntilMs = tonumber(untilMs)
elseif ARGV[4] ~= 'share' then
  local latest = redis.call('HGET', KEYS[1], 'latest')
  if latest and latest ~= ARGV[1] then
    return { 'superseded', 0 }
  end
  -- Redis restarted and lost the flight: write it again.
  redis.call('HSET', KEYS[1], 'latest', ARGV[1])
end
redis.call('HSET', KEYS[1], ARGV[1], string.format('%s %d %d', ARGV[2], nowMs + ARGV[3], othersUntilMs))
redis.call('PEXPIRE', KEYS[1], 2 * ARGV[3])
return { 'held', math.max(0, othersUntilMs - nowMs) }
