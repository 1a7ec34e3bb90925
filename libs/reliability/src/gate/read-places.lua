-- Reads the places that are taken, latest heartbeat first, without the sessions' names and addresses.
-- KEYS[1] sessions that have a place, scored by their last heartbeat
-- KEYS[2] hash by session: "<ms at which it got its place> <its address>"
-- KEYS[3] sessions that were refused a place and have got none since, scored by their last refusal; the newest 1,000
-- ARGV[1] ms of silence after which a session loses its place in any case
-- ARGV[2] most places that are returned
-- ARGV[3] ms since its refusal for which a session counts as waiting
-- returns {number of places, {{ms since the last heartbeat, ms since it got its place}, …}, number of waiting sessions}
local clock = redis.call('TIME')
local nowMs = clock[1] * 1000 + math.floor(clock[2] / 1000)
local after = '(' .. (nowMs - tonumber(ARGV[1]))
local latest = redis.call('ZREVRANGEBYSCORE', KEYS[1], '+inf', after, 'WITHSCORES', 'LIMIT', 0, ARGV[2])
local places = {}
for index = 1, #latest, 2 do
  local seenAtMs = tonumber(latest[index + 1])
  local held = redis.call('HGET', KEYS[2], latest[index])
  local sinceMs = held and tonumber(string.match(held, '^%S+')) or seenAtMs
  places[#places + 1] = { math.floor(nowMs - seenAtMs), math.floor(nowMs - sinceMs) }
end
local waiting = redis.call('ZCOUNT', KEYS[3], '(' .. (nowMs - tonumber(ARGV[3])), nowMs)
return { redis.call('ZCOUNT', KEYS[1], after, '+inf'), places, waiting }
