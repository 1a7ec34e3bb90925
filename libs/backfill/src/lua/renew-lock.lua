-- Extends a lock if the owner still holds it.
-- KEYS[1] the lock
-- ARGV[1] the owner's token
-- ARGV[2] ms from now for which the lock is held
-- returns 1, or 0 if the owner no longer holds the lock
if redis.call('GET', KEYS[1]) == ARGV[1] then
  return redis.call('PEXPIRE', KEYS[1], ARGV[2])
end
return 0
