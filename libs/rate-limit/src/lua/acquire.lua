-- Charges every counter of one call, and its slot, or nothing at all.
-- KEYS[1] what the counters were built for
-- KEYS[2] limits learned from the vendor
-- KEYS[3] slots held, scored by their end
-- KEYS[4…] the counters, in the windows the asker believes in
-- ARGV[1] what the asker believes they were built for
-- ARGV[2] the limits it believes in
-- ARGV[3] ms from which those windows may be charged
-- ARGV[4] ms until which they may
-- ARGV[5] id of the permit
-- ARGV[6] most slots, 0 for a call that holds none
-- ARGV[7] ms a slot is held at most
-- ARGV[8…] for each counter: how far this call may fill it, ms until which it is kept
-- returns {verdict, now ms, what is there instead} with verdict granted, lost, limits, elsewhere, full or slot
local clock = redis.call('TIME')
local nowMs = clock[1] * 1000 + math.floor(clock[2] / 1000)

-- The slots, a sorted set, come back as nil.
local values = redis.call('MGET', unpack(KEYS))
-- A restarted or flushed server has forgotten calls that the vendor has not.
if values[1] ~= ARGV[1] then
  return { 'lost', nowMs, 0 }
end
local limits = values[2] or ''
if limits ~= ARGV[2] then
  return { 'limits', nowMs, limits }
end
-- Another window, or so near to a boundary that the vendor may see the call in another.
if nowMs < tonumber(ARGV[3]) or nowMs >= tonumber(ARGV[4]) then
  return { 'elsewhere', nowMs, 0 }
end

local counters = #KEYS - 3
local full = ''
for index = 1, counters do
  if (tonumber(values[3 + index]) or 0) >= tonumber(ARGV[6 + 2 * index]) then
    full = full .. index .. ' '
  end
end
if full ~= '' then
  return { 'full', nowMs, full }
end

local mostSlots = tonumber(ARGV[6])
if mostSlots > 0 then
  redis.call('ZREMRANGEBYSCORE', KEYS[3], '-inf', nowMs)
  if redis.call('ZCARD', KEYS[3]) >= mostSlots then
    local first = redis.call('ZRANGE', KEYS[3], 0, 0, 'WITHSCORES')
    return { 'slot', nowMs, math.max(1, tonumber(first[2]) - nowMs) }
  end
  redis.call('ZADD', KEYS[3], nowMs + tonumber(ARGV[7]), ARGV[5])
end

for index = 1, counters do
  if redis.call('INCR', KEYS[3 + index]) == 1 then
    redis.call('PEXPIREAT', KEYS[3 + index], ARGV[7 + 2 * index])
  end
end
return { 'granted', nowMs, 0 }
