-- A chunk could not be played. ARGV: job, run, kind, first block, end, token, reason, times a chunk may raise.
-- Answers retried or failed; refused where the lease is no longer held.
local id, run, kind, first, last, token, reason = unpack(ARGV, 1, 7)
local name = lease_name(id, run, kind, first, last)
if lease_terms(name) ~= token then
    return 'refused'
end
drop_lease(name)
count('chunks|failed')
if redis.call('HINCRBY', job_key(id, 'attempts'), first .. ' raised', 1) >= number(ARGV[8]) then
    finish(id, 'failed', reason)
    return 'failed'
end
put_back(id, kind, first, last)
return 'retried'
