-- Rewrites limits and counters after Redis lost them or a new epoch began. The caller holds the ledger's lock.
-- KEYS[1] the state that the counters were built for
-- KEYS[2] the limits and the windows that began with a request
-- KEYS[3…] the counters
-- ARGV[1] the state that the caller has found, empty if none
-- ARGV[2] the new state
-- ARGV[3] the limits, in the order of the counters, and these windows
-- ARGV[4…] for each counter: its count in the ledger, the ms at which it expires
-- returns 1, or 0 if another state is there: the caller was frozen and has lost the ledger's lock
if (redis.call('GET', KEYS[1]) or '') ~= ARGV[1] then
  return 0
end
for index = 3, #KEYS do
  local ours = tonumber(redis.call('GET', KEYS[index])) or 0
  redis.call('SET', KEYS[index], math.max(ours, tonumber(ARGV[2 * index - 2])), 'PXAT', ARGV[2 * index - 1])
end
redis.call('SET', KEYS[2], ARGV[3])
redis.call('SET', KEYS[1], ARGV[2])
return 1
