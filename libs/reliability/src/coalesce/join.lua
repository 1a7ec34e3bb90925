-- Joins the flight of a client's intent, or begins one.
-- KEYS[1] the client's flights: for each intent "<leader's token> <ms at which its lease ends> <ms until which followers wait>", and
--         `latest`: the newest intent
-- KEYS[2] `KEYS[1]:<token>`: the outcome of the leader with that token, or "heir <token>" if another leader took over.
--         The token is that of the leader that the caller has followed; if there is none, the caller's own
-- ARGV[1] the intent
-- ARGV[2] the caller's token
-- ARGV[3] ms of a lease
-- ARGV[4] ms for which the caller waits
-- ARGV[5] share: other intents do not matter; replace: this intent supersedes older ones;
--         retry: a repeated replace; a newer intent wins over it
-- ARGV[6] the channel that wakes followers
-- returns {done, outcome}, {follow, the leader's token}, {superseded, ''} or {lead, ''}
local outcome = redis.call('GET', KEYS[2])
if outcome then
  local heir = string.match(outcome, '^heir (%S+)$')
  if heir then
    return { 'follow', heir }
  end
  return { 'done', outcome }
end

local clock = redis.call('TIME')
local nowMs = clock[1] * 1000 + math.floor(clock[2] / 1000)
local intent, mode = ARGV[1], ARGV[5]

if mode ~= 'share' then
  local latest = redis.call('HGET', KEYS[1], 'latest')
  if latest and latest ~= intent then
    if mode == 'retry' then
      return { 'superseded', '' }
    end
    local older = redis.call('HGET', KEYS[1], latest)
    if older then
      redis.call('HDEL', KEYS[1], latest)
      redis.call('PUBLISH', ARGV[6], string.match(older, '^%S+') .. ' superseded')
    end
  end
  redis.call('HSET', KEYS[1], 'latest', intent)
end

local function write(token, leaseEndsMs, othersUntilMs)
  redis.call('HSET', KEYS[1], intent, string.format('%s %d %d', token, leaseEndsMs, othersUntilMs))
end

local token, leaseEndsMs, othersUntilMs
local flight = redis.call('HGET', KEYS[1], intent)
if flight then
  token, leaseEndsMs, othersUntilMs = string.match(flight, '^(%S+) (%d+) (%d+)$')
end
if token and tonumber(leaseEndsMs) > nowMs then
  -- If Redis' clock was set back, the lease of a dead leader would last for too long.
  write(token, math.min(leaseEndsMs, nowMs + ARGV[3]), math.max(othersUntilMs, nowMs + ARGV[4]))
  return { 'follow', token }
end
-- The caller becomes the leader. A follower of the dead leader may poll only after the caller's flight has ended as well.
-- So that the follower finds the outcome, store the caller's token as the dead leader's heir.
local left = token and tonumber(othersUntilMs) - nowMs or 0
if left > 0 then
  redis.call('SET', KEYS[1] .. ':' .. token, 'heir ' .. ARGV[2], 'PX', left)
end
write(ARGV[2], nowMs + ARGV[3], nowMs + math.max(0, left))
-- If this leader dies too, the key expires soon.
redis.call('PEXPIRE', KEYS[1], 2 * ARGV[3])
return { 'lead', '' }
