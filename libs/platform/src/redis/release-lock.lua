-- Releases a lock if the owner still holds it.
-- KEYS[1] the lock
-- ARGV[1] the owner's token
-- returns 1, or 0 if the owner no longer holds the lock
if redis.call('GET', KEYS[1]) == ARGV[1] then
  return redis.call('DEL', KEYS[1])
end
return 0
