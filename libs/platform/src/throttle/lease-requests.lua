-- Leases a block of requests of a caller's minute to a process, so that the process asks Redis once per block, not once per request.
-- KEYS[1] the caller's count
-- ARGV[1] requests allowed in a minute
-- ARGV[2] requests wanted now
-- returns {requests granted, milliseconds left of the minute, requests of the minute that no replica has leased yet}
local clock = redis.call('TIME')
local nowMs = clock[1] * 1000 + math.floor(clock[2] / 1000)
local msLeft = 60000 - nowMs % 60000
local minute = math.floor(nowMs / 60000)

-- A count may expire some milliseconds after its minute. It must not be charged to the next minute.
local stored = redis.call('HMGET', KEYS[1], 'minute', 'taken')
local taken = tonumber(stored[1]) == minute and tonumber(stored[2]) or 0
local granted = math.min(tonumber(ARGV[2]), tonumber(ARGV[1]) - taken)
if granted <= 0 then
  return { 0, msLeft, 0 }
end
redis.call('HSET', KEYS[1], 'minute', minute, 'taken', taken + granted)
redis.call('PEXPIRE', KEYS[1], msLeft)
return { granted, msLeft, tonumber(ARGV[1]) - taken - granted }
