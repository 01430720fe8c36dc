-- Hands out the next chunk. ARGV: engine version, slot, generation, 1 for a message just received, worker, milliseconds of
-- a lease and of a permit's patience, seconds a chunk should take, blocks of a chunk or 0 for measured sizes, blocks of a
-- first chunk, growth, scenarios a chunk may span, milliseconds an audit waits for another worker, bounds of the waiting
-- time's buckets in milliseconds.
local version, slot, generation, is_message, worker = unpack(ARGV, 1, 5)
local lease, patience, target, pinned = number(ARGV[6]), number(ARGV[7]), number(ARGV[8]), number(ARGV[9])
local first_blocks, growth, max_pieces, audit_patience = number(ARGV[10]), number(ARGV[11]), number(ARGV[12]), number(ARGV[13])

if redis.call('HGET', key('permits', version), slot) ~= generation then
    return { 'stale' }
end
if is_message == '1' then
    -- A message that is delivered twice works once.
    generation = issue(version, slot, patience)[3]
else
    redis.call('ZADD', key('permits', version, 'deadlines'), whole(now + patience), slot)
end
if redis.call('HGET', key('worker', worker), 'draining') == '1' then
    return { 'drain', generation }
end

-- Blocks a second and largest measured run of a scenario; of one not yet measured, what its slowest trait allows.
local function speed(id, scenario, traits)
    local speeds = job_key(id, 'speeds')
    local known = redis.call('HGET', speeds, 's' .. scenario)
    if known then
        local rate, largest = string.match(known, '^(%S+) (%S+)$')
        return number(rate), number(largest)
    end
    local slowest, smallest
    for trait in string.gmatch(traits, '%d+') do
        known = redis.call('HGET', speeds, 't' .. trait)
        if not known then
            return nil
        end
        local rate, largest = string.match(known, '^(%S+) (%S+)$')
        slowest = math.min(slowest or math.huge, number(rate))
        smallest = math.min(smallest or math.huge, number(largest))
    end
    return slowest, smallest
end

-- Advances the job's cursor by a chunk of about `target` seconds: within a step of a scenario that has steps, over the
-- ends of scenarios that are shorter than a chunk. Answers first block, end, seconds expected.
local function advance(id, job)
    local cursor, scenario, blocks = number(job.cursor), number(job.cursor_scenario), number(job.blocks)
    local position, expected, pieces = cursor, 0, 0
    while position < blocks and pieces < max_pieces do
        local layout = redis.call('HGET', job_key(id, 'layout'), whole(scenario))
        local first, last, step, traits = string.match(layout, '^(%d+) (%d+) (%d+) (%S*)$')
        first, last, step = number(first), number(last), number(step)
        local limit = last
        if step > 0 then
            limit = math.min(last, first + (math.floor((position - first) / step) + 1) * step)
        end
        local rate, largest = speed(id, scenario, traits)
        local room, pace
        if pinned > 0 then
            room, pace = pinned - (position - cursor), rate or pinned / target
        elseif rate then
            room, pace = math.min(math.floor(rate * (target - expected)), growth * largest), rate
        else
            room, pace = math.floor(first_blocks * (1 - expected / target)), first_blocks / target
        end
        local size = math.min(limit - position, math.max(room, position == cursor and 1 or 0))
        position, expected, pieces = position + size, expected + size / pace, pieces + 1
        if position == last then
            scenario = scenario + 1
        end
        if position < last or step > 0 then
            break
        end
    end
    redis.call('HSET', job_key(id), 'cursor', whole(position), 'cursor_scenario', whole(scenario),
        'chunk_blocks', whole(position - cursor))
    return whole(cursor), whole(position), expected
end

-- The next piece of work of a job: kind, first block, end, seconds expected; 'later' where there will be some without
-- anybody's doing; nothing where all is handed out.
local function next_work(id)
    local job = {}
    job.state, job.cursor, job.cursor_scenario, job.blocks, job.watermark, job.look_ahead = unpack(redis.call('HMGET',
        job_key(id), 'state', 'cursor', 'cursor_scenario', 'blocks', 'watermark', 'look_ahead'))
    if job.state ~= 'queued' and job.state ~= 'running' then
        return nil
    end
    local retry = redis.call('LPOP', job_key(id, 'retry'))
    if retry then
        local first, last = string.match(retry, '^(%d+) (%d+)$')
        return 'c', first, last, target
    end
    local exhausted = number(job.cursor) >= number(job.blocks)
    local audit = redis.call('LINDEX', job_key(id, 'audit_line'), 0)
    if audit then
        local digest, recorder, since = string.match(redis.call('HGET', job_key(id, 'audits'), audit), '^(%S+) (%S+) (%d+)$')
        local alone = redis.call('ZCOUNT', key('workers'), whole(now), '+inf') < 2
        if recorder ~= worker or alone or (exhausted and now - number(since) > audit_patience) then
            redis.call('LPOP', job_key(id, 'audit_line'))
            local first, last = string.match(audit, '^(%d+) (%d+)$')
            return 'a', first, last, target
        end
    end
    local look_ahead = number(job.look_ahead)
    if not exhausted and look_ahead > 0 and number(job.cursor) >= number(job.watermark) + look_ahead then
        -- A sequential test waits for its slowest chunk rather than play far ahead of it.
        return 'later'
    end
    if not exhausted then
        return 'c', advance(id, job)
    end
    return audit and 'later' or nil
end

local function start(id)
    local created = redis.call('HGET', job_key(id), 'created_at')
    local waited, bucket = now - number(created), 0
    for bound in string.gmatch(ARGV[14], '%d+') do
        if waited <= number(bound) then
            break
        end
        bucket = bucket + 1
    end
    count('job_wait_seconds|' .. bucket)
    count('job_wait_seconds|sum', whole(waited * 1000))
    redis.call('HSET', job_key(id), 'started_at', whole(now), 'rate_at', whole(now))
    move(id, 'running')
end

local owners, passed_owners = key('owners', version), 0
while true do
    local owner = redis.call('ZRANGE', owners, passed_owners, passed_owners)[1]
    if not owner then
        break
    end
    local passed = 0
    while true do
        local id = redis.call('ZRANGE', key('line', version, owner), passed, passed)[1]
        if not id then
            break
        end
        local kind, first, last, expected = next_work(id)
        if kind == 'later' then
            passed = passed + 1
        elseif not kind then
            dequeue(id)
        else
            local job = redis.call('HMGET', job_key(id), 'run', 'state', 'request_id')
            if job[2] == 'queued' then
                start(id)
            end
            local token = whole(redis.call('INCR', key('tokens')))
            local name = lease_name(id, job[1], kind, first, last)
            redis.call('ZADD', key('leases'), whole(now + lease), name)
            redis.call('HSET', key('leases', 'terms'), name,
                table.concat({ token, worker, whole(now), string.format('%.6f', expected) }, ' '))
            charge(id, expected)
            return { 'work', generation, id, job[1], kind, first, last, token, job[3] or '' }
        end
    end
    if passed == 0 then
        redis.call('ZREM', owners, owner)
    else
        passed_owners = passed_owners + 1
    end
end
if passed_owners > 0 then
    return { 'later', generation }
end
redis.call('SADD', key('permits', version, 'parked'), slot)
redis.call('ZREM', key('permits', version, 'deadlines'), slot)
return { 'idle', generation }
