-- The next moment at which any worker may fetch for the backfill; the one after it comes a gap later. None is later than the
-- end of what the gap was made for: a call that comes too late for it is refused there, and told when to come back.
-- KEYS[1] ms at which the next may begin
-- ARGV[1] the gap in ms
-- ARGV[2] ms until that end
-- returns how many ms the asker has to wait
local clock = redis.call('TIME')
local nowMs = clock[1] * 1000 + math.floor(clock[2] / 1000)
local endMs = nowMs + math.ceil(tonumber(ARGV[2]))
local atMs = math.min(endMs, math.max(nowMs, tonumber(redis.call('GET', KEYS[1]) or 0)))
local nextMs = math.min(endMs, atMs + math.ceil(tonumber(ARGV[1])))
redis.call('SET', KEYS[1], nextMs, 'PX', nextMs - nowMs + 1000)
return atMs - nowMs
