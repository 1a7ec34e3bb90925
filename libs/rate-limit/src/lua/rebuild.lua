-- Writes the counters anew after the server has forgotten them. Whoever rebuilds holds the ledger's lock.
-- KEYS[1] what the counters were built for
-- KEYS[2…] the counters
-- ARGV[1] what they are built for now
-- ARGV[2…] for each counter: its count by the ledger, ms until which it is kept
-- returns 1
for index = 2, #KEYS do
  local ours = tonumber(redis.call('GET', KEYS[index])) or 0
  redis.call('SET', KEYS[index], math.max(ours, tonumber(ARGV[2 * index - 2])), 'PXAT', ARGV[2 * index - 1])
end
redis.call('SET', KEYS[1], ARGV[1])
return 1
