-- Takes a chunk's result once. ARGV: job, run, kind, first block, end, digest of the tallies, journal entry, seconds of
-- play, worker, process, matches, audit one chunk in so many (0: none), milliseconds spent playing since the last
-- renewal, then a triple for each measured run: field of the speeds, blocks, seconds.
-- Answers recorded, duplicate, refused, agreed or differed.
local id, run, kind, first, last, digest, entry = unpack(ARGV, 1, 7)
local seconds, worker, process, matches = number(ARGV[8]), ARGV[9], ARGV[10], ARGV[11]
local audit_every, busy = number(ARGV[12]), ARGV[13]

local recorded = key('worker', worker, 'recorded')
redis.call('HINCRBY', recorded, 'busy', busy)
redis.call('EXPIRE', recorded, 86400)
local name = lease_name(id, run, kind, first, last)
local job = redis.call('HMGET', job_key(id), 'state', 'run', 'watermark', 'scenario_count')
if job[2] ~= run or not is_live(job[1]) then
    return 'refused'
end
local token, holder, granted, expected = lease_terms(name)
local range = first .. ' ' .. last

if kind == 'a' then
    local wanted = redis.call('HGET', job_key(id, 'audits'), range)
    if not wanted then
        return 'duplicate'
    end
    drop_lease(name)
    redis.call('LREM', job_key(id, 'audit_line'), 0, range)
    redis.call('HDEL', job_key(id, 'audits'), range)
    redis.call('SADD', key('unfolded'), id)
    local known, recorder = string.match(wanted, '^(%S+) (%S+)')
    if known == digest then
        count('audits|agreed')
        return 'agreed'
    end
    count('audits|differed')
    finish(id, 'failed', string.format('audit: blocks %s to %s (counted over all scenarios) came out differently on %s and on %s',
        first, whole(number(last) - 1), recorder, worker))
    return 'differed'
end

-- What is done: everything below the watermark, and the ranges beyond it, which never touch each other. There are no
-- more of them than chunks that are held or to be retried.
local done, from, upto = job_key(id, 'done'), number(first), number(last)
local before = redis.call('ZREVRANGEBYSCORE', done, first, '-inf', 'LIMIT', 0, 1)[1]
local before_from, before_upto
if before then
    before_from, before_upto = string.match(before, '^(%d+) (%d+)$')
end
if upto <= number(job[3]) or (before and upto <= number(before_upto)) then
    count('chunks|duplicate')
    return 'duplicate'
end
-- A chunk that is neither held nor to be retried was handed out by a Redis whose last writes are gone, as after a failover.
-- Its blocks are handed out anew, perhaps otherwise cut: to take this result too would count them twice.
if not token and redis.call('LREM', job_key(id, 'retry'), 0, range) == 0 then
    return 'refused'
end
if before and number(before_upto) == from then
    redis.call('ZREM', done, before)
    from = number(before_from)
end
local after = redis.call('ZRANGEBYSCORE', done, last, last)[1]
if after then
    redis.call('ZREM', done, after)
    upto = number(string.match(after, '^%d+ (%d+)$'))
end
if from == number(job[3]) then
    redis.call('HSET', job_key(id), 'watermark', whole(upto))
else
    redis.call('ZADD', done, whole(from), whole(from) .. ' ' .. whole(upto))
end

redis.call('RPUSH', job_key(id, 'journal'), entry)
redis.call('SADD', key('unfolded'), id)
redis.call('HDEL', job_key(id, 'attempts'), first .. ' lost', first .. ' raised')
if token then
    drop_lease(name)
    charge(id, seconds - number(expected))
end

redis.call('HINCRBY', recorded, process .. ' chunks', 1)
redis.call('HINCRBY', recorded, process .. ' matches', matches)

for i = 14, #ARGV, 3 do
    local field, blocks, spent = ARGV[i], number(ARGV[i + 1]), math.max(number(ARGV[i + 2]), 0.000001)
    local rate, largest = blocks / spent, blocks
    local known = redis.call('HGET', job_key(id, 'speeds'), field)
    if known then
        local old_rate, old_largest = string.match(known, '^(%S+) (%S+)$')
        if string.sub(field, 1, 1) == 't' then
            rate = math.max(rate, number(old_rate))
        else
            rate = (rate + number(old_rate)) / 2
        end
        largest = math.max(largest, number(old_largest))
    end
    redis.call('HSET', job_key(id, 'speeds'), field, string.format('%.6f %.0f', rate, largest))
end

if audit_every > 0 and redis.call('INCR', key('audited')) % audit_every == 0 then
    redis.call('HSET', job_key(id, 'audits'), range, table.concat({ digest, worker, whole(now) }, ' '))
    put_back(id, 'a', first, last)
end
return 'recorded'
