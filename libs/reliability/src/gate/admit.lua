-- Decides one after the other on sessions that request a place in a pool.
-- KEYS[1] sessions that have a place, scored by their last heartbeat
-- KEYS[2] hash by session: "<ms at which it got its place> <its address>"
-- KEYS[3] hash by address: the number of its places
-- KEYS[4] sessions that were refused a place and have got none since, scored by their last refusal; the newest 1,000
-- ARGV[1] places in the pool
-- ARGV[2] most places of one address
-- ARGV[3] ms of silence after which a newcomer may take the place
-- ARGV[4] ms of silence after which a session loses its place in any case
-- ARGV[5] the sessions' addresses, in the order of the sessions, each ended by a line break
-- ARGV[6…] the sessions
-- returns for each session: 0 if the session has a place and no other session lost its place;
--   the first session that lost its place, if any did; or ms until a place can be free if the session has no place
local clock = redis.call('TIME')
local nowMs = clock[1] * 1000 + math.floor(clock[2] / 1000)
local places, perAddress = tonumber(ARGV[1]), tonumber(ARGV[2])
local keptMs, forgottenMs = tonumber(ARGV[3]), tonumber(ARGV[4])
-- One call reads at most this many silent sessions, so that a large pool does not block Redis.
local MOST_LOOKED_AT = 1000
-- Without a limit, a client that invents sessions would fill Redis.
local MOST_REFUSED = 1000

-- If Redis' clock was set back, some heartbeats lie in the future, and their sessions would keep their places for too long.
-- Set these heartbeats to now.
local newest = redis.call('ZRANGE', KEYS[1], -1, -1, 'WITHSCORES')
if newest[2] and tonumber(newest[2]) > nowMs then
  for _, session in ipairs(redis.call('ZRANGEBYSCORE', KEYS[1], '(' .. nowMs, '+inf')) do
    redis.call('ZADD', KEYS[1], nowMs, session)
  end
end

local taken

local function free(session)
  redis.call('ZREM', KEYS[1], session)
  taken = taken - 1
  local held = redis.call('HGET', KEYS[2], session)
  redis.call('HDEL', KEYS[2], session)
  local address = held and string.match(held, ' (.*)$')
  if address and redis.call('HINCRBY', KEYS[3], address, -1) <= 0 then
    redis.call('HDEL', KEYS[3], address)
  end
end

-- Returns the silent sessions of an address that must lose their places before the address may get one more place. The longest
-- silent session is first. Returns nil if the address has too few silent sessions.
local function gonersOf(address)
  local wanted = (tonumber(redis.call('HGET', KEYS[3], address)) or 0) - perAddress + 1
  local goners = {}
  if wanted <= 0 then
    return goners
  end
  local silent = redis.call('ZRANGEBYSCORE', KEYS[1], '-inf', nowMs - keptMs, 'LIMIT', 0, MOST_LOOKED_AT)
  if #silent < wanted then
    return nil
  end
  local held = redis.call('HMGET', KEYS[2], unpack(silent))
  for index, session in ipairs(silent) do
    if held[index] and string.match(held[index], ' (.*)$') == address then
      goners[#goners + 1] = session
      if #goners == wanted then
        return goners
      end
    end
  end
  return nil
end

-- Most sessions have a place, so their addresses are not needed. Therefore all addresses come as one argument, which is split only
-- when a newcomer's address is needed.
local addresses
local function addressAt(number)
  if not addresses then
    addresses = {}
    for address in string.gmatch(ARGV[5], '(.-)\n') do
      addresses[#addresses + 1] = address
    end
  end
  return addresses[number]
end

local function decide(number, session)
  local hasRoom = taken < places
  if hasRoom then
    -- This command records the heartbeat of a session that has a place. Most sessions need no other command.
    if redis.call('ZADD', KEYS[1], nowMs, session) == 0 then
      return 0
    end
    taken = taken + 1
  elseif redis.call('ZSCORE', KEYS[1], session) then
    redis.call('ZADD', KEYS[1], nowMs, session)
    return 0
  else
    -- One session must lose its place, or several if the pool was shrunk. Equally silent sessions go in the order of their names.
    local last = taken - places
    local oldest = redis.call('ZRANGE', KEYS[1], last, last, 'WITHSCORES')
    local freeInMs = tonumber(oldest[2]) + keptMs - nowMs
    if freeInMs > 0 then
      return freeInMs
    end
  end

  local address = addressAt(number)
  local goners = gonersOf(address)
  if not goners then
    if hasRoom then
      redis.call('ZREM', KEYS[1], session)
      taken = taken - 1
    end
    return keptMs
  end
  for _, goner in ipairs(goners) do
    free(goner)
  end
  if not hasRoom then
    if taken >= places then
      for _, goner in ipairs(redis.call('ZRANGE', KEYS[1], 0, taken - places)) do
        free(goner)
        goners[#goners + 1] = goner
      end
    end
    redis.call('ZADD', KEYS[1], nowMs, session)
    taken = taken + 1
  end
  redis.call('HSET', KEYS[2], session, nowMs .. ' ' .. address)
  redis.call('HINCRBY', KEYS[3], address, 1)
  redis.call('ZREM', KEYS[4], session)
  return goners[1] or 0
end

local forgotten = redis.call('ZRANGEBYSCORE', KEYS[1], '-inf', nowMs - forgottenMs, 'LIMIT', 0, MOST_LOOKED_AT)
taken = redis.call('ZCARD', KEYS[1])
for _, session in ipairs(forgotten) do
  free(session)
end

local answers = {}
local refused = false
for index = 6, #ARGV do
  local answer = decide(index - 5, ARGV[index])
  if type(answer) == 'number' and answer > 0 then
    redis.call('ZADD', KEYS[4], nowMs, ARGV[index])
    refused = true
  end
  answers[index - 5] = answer
end
if refused then
  redis.call('ZREMRANGEBYRANK', KEYS[4], 0, -1 - MOST_REFUSED)
  redis.call('PEXPIRE', KEYS[4], forgottenMs + 1000)
end
-- Renewing the keys' expiry once a second is enough, and saves three commands per call.
if not newest[2] or math.floor(nowMs / 1000) ~= math.floor(newest[2] / 1000) then
  for _, key in ipairs(KEYS) do
    redis.call('PEXPIRE', key, forgottenMs + 1000)
  end
end
return answers
