-- Keeps a lease and its permit alive while the chunk is played. ARGV: engine version, slot, generation, job, run, kind,
-- first block, end, token, milliseconds of a lease and of a permit's patience, worker, milliseconds spent playing.
-- Answers 1 while the result is still wanted, 0 when it is not.
local version, slot, generation, id, run, kind, first, last, token = unpack(ARGV, 1, 9)
local lease, patience, worker = number(ARGV[10]), number(ARGV[11]), ARGV[12]

redis.call('HINCRBY', key('worker', worker, 'recorded'), 'busy', ARGV[13])
redis.call('EXPIRE', key('worker', worker, 'recorded'), 86400)
if redis.call('HGET', key('permits', version), slot) == generation then
    redis.call('ZADD', key('permits', version, 'deadlines'), whole(now + patience), slot)
end
local job = redis.call('HMGET', job_key(id), 'state', 'run')
if job[2] ~= run or not is_live(job[1]) then
    return 0
end
local name = lease_name(id, run, kind, first, last)
local holder = lease_terms(name)
if holder == token then
    redis.call('ZADD', key('leases'), whole(now + lease), name)
    return 1
end
if holder then
    -- Somebody else plays it again; whoever is first is taken.
    return 1
end
-- Lost, and not yet claimed by anybody: taken back. Otherwise it was recorded.
local line = job_key(id, kind == 'a' and 'audit_line' or 'retry')
if redis.call('LREM', line, 1, first .. ' ' .. last) == 1 then
    redis.call('ZADD', key('leases'), whole(now + lease), name)
    redis.call('HSET', key('leases', 'terms'), name, table.concat({ token, worker, whole(now), '0' }, ' '))
    return 1
end
return 0
