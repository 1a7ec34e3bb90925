-- Takes the lease of an athlete's archive, or renews it. One script does both: if Redis has lost the key, a renewal writes it again.
-- KEYS[1] the lease
-- ARGV[1] the archive's token
-- ARGV[2] the length of the lease in ms
-- returns 1, or 0 if another archive holds the lease
local holder = redis.call('GET', KEYS[1])
if holder and holder ~= ARGV[1] then
  return 0
end
redis.call('SET', KEYS[1], ARGV[1], 'PX', ARGV[2])
return 1
