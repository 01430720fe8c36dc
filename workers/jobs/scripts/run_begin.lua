-- Stores a run of a regression once, and tells its webhook that it was missed where there is something to tell. ARGV: run,
-- regression, unix second of its creation, document, announcement or nothing. Answers 1 for whoever was first.
local run, regression, created_at, document, announcement = unpack(ARGV, 1, 5)
if redis.call('HSETNX', key('run', run), 'document', document) == 0 then
    return 0
end
redis.call('ZADD', key('regression', regression, 'runs'), created_at, run)
redis.call('SADD', key('runs', 'live'), run)
if announcement ~= '' then
    redis.call('ZADD', key('webhooks'), 'NX', clock[1], announcement)
end
return 1
