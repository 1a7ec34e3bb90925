-- Refunds a permit whose request was not sent: decrements the counters that the permit was charged to, and frees its slot.
-- KEYS[1] the state that the counters were built for
-- KEYS[2] slots held
-- KEYS[3…] the counters that the permit was charged to
-- ARGV[1] the state when the permit was charged
-- ARGV[2] id of the permit
-- returns 1. Returns 0 if the counters were rebuilt after the charge; then only the slot is freed
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
