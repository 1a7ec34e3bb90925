-- Takes over what the vendor said with its answer: its limits, and its count where it is higher than ours.
-- KEYS[1] limits learned from the vendor
-- KEYS[2…] the counters the call was charged to
-- ARGV[1] the limits by the vendor's word, in the order of its counters
-- ARGV[2…] for each counter the vendor's count, or -1
-- returns 1
redis.call('SET', KEYS[1], ARGV[1])
for index = 2, #KEYS do
  local ours, told = tonumber(redis.call('GET', KEYS[index])), tonumber(ARGV[index])
  -- A counter that has expired belongs to a window that is over.
  if ours and told > ours then
    redis.call('SET', KEYS[index], told, 'KEEPTTL')
  end
end
return 1
