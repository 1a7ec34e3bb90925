-- Gives back a permit that was not put on the wire, to the windows it was taken from.
-- KEYS[1] what the budget's state was built for
-- KEYS[2] slots held
-- KEYS[3…] the counters the permit was charged to
-- ARGV[1] what the state was built for when the permit was granted
-- ARGV[2] id of the permit
-- returns 1, or 0 when the state has been rebuilt since and knows nothing of the permit
redis.call('ZREM', KEYS[2], ARGV[2])
if redis.call('GET', KEYS[1]) ~= ARGV[1] then
  return 0
end
for index = 3, #KEYS do
  local count = tonumber(redis.call('GET', KEYS[index]))
  if count and count > 0 then
    redis.call('DECR', KEYS[index])
  end
end
return 1
