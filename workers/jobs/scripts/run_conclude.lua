-- Stores the outcome of a run once, and tells its webhook where there is something to tell. ARGV: run, outcome, announcement
-- or nothing. Answers 1 for whoever was first.
local run, outcome, announcement = unpack(ARGV, 1, 3)
redis.call('SREM', key('runs', 'live'), run)
if redis.call('HEXISTS', key('run', run), 'document') == 0 or redis.call('HSETNX', key('run', run), 'outcome', outcome) == 0 then
    return 0
end
if announcement ~= '' then
    redis.call('ZADD', key('webhooks'), 'NX', clock[1], announcement)
end
return 1
