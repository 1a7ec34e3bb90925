-- Raises our counts to the vendor's where the vendor counted more.
-- KEYS[1…] the counters that the call was charged to
-- ARGV[1…] for each counter the vendor's count, or -1 if the answer reports none
-- returns 1
for index = 1, #KEYS do
  local ours, told = tonumber(redis.call('GET', KEYS[index])), tonumber(ARGV[index])
  -- A counter that expired belongs to a past window.
  if ours and told > ours then
    redis.call('SET', KEYS[index], told, 'KEEPTTL')
  end
end
return 1
