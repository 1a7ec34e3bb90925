-- Adds decisions to the counters of the present minute, and deletes the counters of minutes that are over for too long.
-- KEYS[1] hash by "<minute> <cause>": the number of decisions
-- ARGV[1] minutes that are kept before the present one
-- ARGV[2…] a cause and a number, by turns
-- returns the present minute
local minute = math.floor(redis.call('TIME')[1] / 60)
local isNew = true
for index = 2, #ARGV, 2 do
  local field = minute .. ' ' .. ARGV[index]
  if redis.call('HINCRBY', KEYS[1], field, ARGV[index + 1]) ~= tonumber(ARGV[index + 1]) then
    isNew = false
  end
end
-- At most 61 minutes with some causes each are looked through, once or a few times a minute.
if isNew then
  for _, field in ipairs(redis.call('HKEYS', KEYS[1])) do
    if tonumber(string.match(field, '^%d+')) < minute - tonumber(ARGV[1]) then
      redis.call('HDEL', KEYS[1], field)
    end
  end
end
redis.call('EXPIRE', KEYS[1], 60 * (tonumber(ARGV[1]) + 1))
return minute
