-- Moves a sequential test on by journal entries, all or nothing. ARGV: job, run, entries folded before, entries folded now,
-- matches of the sums, rate, sums, state of the test, looks that wait, 1 when a look has decided, then field of the
-- metrics, increment, ... Answers done, more, folded; stale where somebody else was faster.
local id, run, before, entries, matches, rate, sums, state, pending, decided = unpack(ARGV, 1, 10)
local job = redis.call('HMGET', job_key(id), 'run', 'folded', 'state', 'watermark', 'blocks')
if job[1] ~= run or number(job[2]) ~= number(before) then
    return 'stale'
end
for at = 11, #ARGV, 2 do
    count(ARGV[at], ARGV[at + 1])
end
redis.call('HSET', job_key(id, 'sums'), 0, sums)
redis.call('SET', job_key(id, 'pending'), pending)
redis.call('HSET', job_key(id), 'test_state', state, 'matches_done', matches)
if number(entries) > 0 then
    redis.call('LTRIM', job_key(id, 'journal'), entries, -1)
    redis.call('HINCRBY', job_key(id), 'folded', entries)
    redis.call('HSET', job_key(id), 'rate', rate, 'rate_at', whole(now))
end
if decided == '1' and is_live(job[3]) then
    finish(id, 'done')
end
if redis.call('LLEN', job_key(id, 'journal')) > 0 then
    return 'more'
end
redis.call('SREM', key('unfolded'), id)
if is_live(redis.call('HGET', job_key(id), 'state')) and job[4] == job[5] and redis.call('HLEN', job_key(id, 'audits')) == 0 then
    finish(id, 'done')
    return 'done'
end
return 'folded'
