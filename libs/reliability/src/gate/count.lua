-- Counts the sessions that have a place.
-- KEYS[1] sessions that have a place, scored by their last heartbeat
-- ARGV[1] ms of silence after which a session loses its place in any case
-- returns the count
local clock = redis.call('TIME')
local nowMs = clock[1] * 1000 + math.floor(clock[2] / 1000)
return redis.call('ZCOUNT', KEYS[1], '(' .. (nowMs - tonumber(ARGV[1])), '+inf')
