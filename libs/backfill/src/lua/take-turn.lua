-- Reserves the next time at which a worker may fetch for the backfill. The time after that is one gap later. No reserved time is
-- after the end of the window. The budget refuses a call at the end of the window, and says when to retry.
-- KEYS[1] ms at which the next call may begin
-- ARGV[1] the gap in ms
-- ARGV[2] ms until the end of the window
-- returns ms for which the caller must wait
local clock = redis.call('TIME')
local nowMs = clock[1] * 1000 + math.floor(clock[2] / 1000)
local endMs = nowMs + math.ceil(tonumber(ARGV[2]))
local atMs = math.min(endMs, math.max(nowMs, tonumber(redis.call('GET', KEYS[1]) or 0)))
local nextMs = math.min(endMs, atMs + math.ceil(tonumber(ARGV[1])))
redis.call('SET', KEYS[1], nextMs, 'PX', nextMs - nowMs + 1000)
return atMs - nowMs
