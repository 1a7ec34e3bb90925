-- Reads the replication id of the server that has the counters, and its clock.
-- KEYS[1] the state that the counters were built for: in a Cluster, this key leads to that server
-- returns {replication id, now ms}
local clock = redis.call('TIME')
local id = string.match(redis.call('INFO', 'replication'), 'master_replid:(%x+)')
return { id or '', clock[1] * 1000 + math.floor(clock[2] / 1000) }
