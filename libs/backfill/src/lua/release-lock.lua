-- Gives a lock back, if it is still the owner's.
-- KEYS[1] the lock
-- ARGV[1] the owner's token
-- returns 1, or 0 where another has it or nobody
if redis.call('GET', KEYS[1]) == ARGV[1] then
  return redis.call('DEL', KEYS[1])
end
return 0
