-- Joins what is under way for a client's intent, or begins it.
-- KEYS[1] the client's flights: for each intent "<token> <ms its lease ends> <ms until which others wait>"; `latest`, an intent
-- KEYS[2] what came of the flight that the asker has followed (`KEYS[1]:<token>`), or who leads in its place: "heir <token>"; of
-- the asker's own where it has followed none
-- ARGV[1] the intent
-- ARGV[2] the asker's token
-- ARGV[3] ms of a lease
-- ARGV[4] ms the asker would wait
-- ARGV[5] beside: other intents do not matter; over: the newest is the only one; again: it was, when it was asked first
-- ARGV[6] the channel on which those who wait are woken
-- returns {done, outcome}, {follow, whose token}, {superseded, ''} or {lead, ''}
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
local intent, manner = ARGV[1], ARGV[5]

if manner ~= 'beside' then
  local latest = redis.call('HGET', KEYS[1], 'latest')
  if latest and latest ~= intent then
    if manner == 'again' then
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
  write(token, leaseEndsMs, math.max(othersUntilMs, nowMs + ARGV[4]))
  return { 'follow', token }
end
-- Others may have followed the dead one and look a moment later, when this flight has ended as well.
local left = token and tonumber(othersUntilMs) - nowMs or 0
if left > 0 then
  redis.call('SET', KEYS[1] .. ':' .. token, 'heir ' .. ARGV[2], 'PX', left)
end
write(ARGV[2], nowMs + ARGV[3], nowMs + math.max(0, left))
-- Whoever dies with it leaves nothing behind for long.
redis.call('PEXPIRE', KEYS[1], 2 * ARGV[3])
return { 'lead', '' }
