-- Charges every counter with as many of some calls of one class as there is room for, and takes their slots.
-- KEYS[1] what the counters were built for
-- KEYS[2] limits learned from the vendor
-- KEYS[3] what the vendor has closed
-- KEYS[4] slots held, scored by their end
-- KEYS[5…] the counters, in the windows the asker believes in
-- ARGV[1] what the asker believes they were built for
-- ARGV[2] the limits it believes in
-- ARGV[3] ms from which those windows may be charged
-- ARGV[4] ms until which they may
-- ARGV[5] how many calls
-- ARGV[6] most slots
-- ARGV[7] ms a slot is held at most
-- ARGV[8…] for each counter: how far these calls may fill it, ms until which it is kept; then the calls' ids, if they hold slots
-- returns {granted, now ms, why not more, what is there instead} with why: nothing, lost, limits, elsewhere, closed, full or slot
local clock = redis.call('TIME')
local nowMs = clock[1] * 1000 + math.floor(clock[2] / 1000)

-- The slots, a sorted set, come back as nil.
local values = redis.call('MGET', unpack(KEYS))
-- A restarted or flushed server has forgotten calls that the vendor has not.
if values[1] ~= ARGV[1] then
  return { 0, nowMs, 'lost' }
end
local limits = values[2] or ''
if limits ~= ARGV[2] then
  return { 0, nowMs, 'limits', limits }
end
-- Another window, or so near to a boundary that the vendor may see the call in another.
if nowMs < tonumber(ARGV[3]) or nowMs >= tonumber(ARGV[4]) then
  return { 0, nowMs, 'elsewhere' }
end
if values[3] then
  return { 0, nowMs, 'closed', values[3] }
end

local calls = tonumber(ARGV[5])
local counters = #KEYS - 4
local granted, why = calls, ''
local used = {}
for index = 1, counters do
  used[index] = tonumber(values[4 + index]) or 0
  local room = tonumber(ARGV[6 + 2 * index]) - used[index]
  if room < granted then
    granted, why = math.max(0, room), 'full'
  end
end

local firstId = 8 + 2 * counters
if granted > 0 and ARGV[firstId] then
  redis.call('ZREMRANGEBYSCORE', KEYS[4], '-inf', nowMs)
  local free = math.max(0, tonumber(ARGV[6]) - redis.call('ZCARD', KEYS[4]))
  if free < granted then
    granted, why = free, 'slot'
  end
  for index = 0, granted - 1 do
    redis.call('ZADD', KEYS[4], nowMs + tonumber(ARGV[7]), ARGV[firstId + index])
  end
end

if granted > 0 then
  for index = 1, counters do
    used[index] = redis.call('INCRBY', KEYS[4 + index], granted)
    if used[index] == granted then
      redis.call('PEXPIREAT', KEYS[4 + index], ARGV[7 + 2 * index])
    end
  end
end
return { granted, nowMs, why, why == 'full' and used or nil }
