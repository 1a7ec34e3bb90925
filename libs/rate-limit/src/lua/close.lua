-- Closes a vendor's window to every class. A window that is closed for longer stays closed.
-- KEYS[1] the window that the vendor has closed
-- ARGV[1] ms until which it is closed
-- ARGV[2] the counter's name
-- ARGV[3] the most ms for which a window is closed
-- returns 1
local clock = redis.call('TIME')
local nowMs = clock[1] * 1000 + math.floor(clock[2] / 1000)
local closed = redis.call('GET', KEYS[1])
local untilMs = closed and tonumber(string.match(closed, '^%d+')) or 0
-- An end that is further away was computed before Redis' clock was set back.
if untilMs < tonumber(ARGV[1]) or untilMs > nowMs + tonumber(ARGV[3]) then
  redis.call('SET', KEYS[1], ARGV[1] .. ' ' .. ARGV[2], 'PXAT', ARGV[1])
end
return 1
