-- What a fold starts from. ARGV: job, entries at most. Answers the time, the job's fields and the journal's first entries.
local job = redis.call('HMGET', job_key(ARGV[1]), 'run', 'folded', 'matches_done', 'rate', 'rate_at', 'test', 'test_state')
return { whole(now), job, redis.call('LRANGE', job_key(ARGV[1], 'journal'), 0, number(ARGV[2]) - 1) }
