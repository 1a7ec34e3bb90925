-- Closes a vendor's window to every class. A window that is closed for longer stays closed.
-- KEYS[1] the window that the vendor has closed
-- ARGV[1] ms until which it is closed
-- ARGV[2] the counter's name
-- returns 1
local closed = redis.call('GET', KEYS[1])
if not closed or tonumber(string.match(closed, '%d+')) < tonumber(ARGV[1]) then
  redis.call('SET', KEYS[1], ARGV[1] .. ' ' .. ARGV[2], 'PXAT', ARGV[1])
end
return 1
