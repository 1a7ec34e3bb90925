-- Corrects the ends of windows that began with a request, unless other limits or windows were written meanwhile.
-- KEYS[1] the limits and the windows
-- KEYS[2…] the counters of the corrected windows
-- ARGV[1] the limits and windows that the correction was computed from
-- ARGV[2] the corrected ones
-- ARGV[3…] for each counter the ms at which it expires
-- returns 1, or 0 if nothing was corrected
if redis.call('GET', KEYS[1]) ~= ARGV[1] then
  return 0
end
redis.call('SET', KEYS[1], ARGV[2])
for index = 2, #KEYS do
  redis.call('PEXPIREAT', KEYS[index], ARGV[index + 1])
end
return 1
