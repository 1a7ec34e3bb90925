-- Holds a lock for longer, if it is still the owner's.
-- KEYS[1] the lock
-- ARGV[1] the owner's token
-- ARGV[2] for how many ms from now
-- returns 1, or 0 where another has it or nobody
if redis.call('GET', KEYS[1]) == ARGV[1] then
  return redis.call('PEXPIRE', KEYS[1], ARGV[2])
end
return 0
