-- Moves a job's sums and the metrics on by journal entries, all or nothing. ARGV: job, run, entries folded before, entries
-- folded now, matches, rate, number of sums, then scenario, sum, ..., then field of the metrics, increment, ...
-- Answers done, more, folded; stale where somebody else was faster.
local id, run, before, entries, matches, rate, sums = unpack(ARGV, 1, 7)
local job = redis.call('HMGET', job_key(id), 'run', 'folded', 'state', 'watermark', 'blocks')
if job[1] ~= run or number(job[2]) ~= number(before) then
    return 'stale'
end
local at = 8
for _ = 1, number(sums) do
    redis.call('HSET', job_key(id, 'sums'), ARGV[at], ARGV[at + 1])
    at = at + 2
end
while ARGV[at] do
    count(ARGV[at], ARGV[at + 1])
    at = at + 2
end
if number(entries) > 0 then
    redis.call('LTRIM', job_key(id, 'journal'), entries, -1)
    redis.call('HINCRBY', job_key(id), 'folded', entries)
    redis.call('HINCRBY', job_key(id), 'matches_done', matches)
    redis.call('HSET', job_key(id), 'rate', rate, 'rate_at', whole(now))
end
if redis.call('LLEN', job_key(id, 'journal')) > 0 then
    return 'more'
end
redis.call('SREM', key('unfolded'), id)
if is_live(job[3]) and job[4] == job[5] and redis.call('HLEN', job_key(id, 'audits')) == 0 then
    finish(id, 'done')
    return 'done'
end
return 'folded'
