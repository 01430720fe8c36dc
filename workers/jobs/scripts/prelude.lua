-- Put before every script. KEYS[1] is the root of all keys, whose hash tag keeps them on one node; the rest of a key's
-- name follows from the arguments. Block numbers and milliseconds stay below 2^53, where Lua's numbers are exact.
local root = KEYS[1]

local function key(...)
    return root .. ':' .. table.concat({ ... }, ':')
end

local function job_key(id, part)
    return part and key('job', id, part) or key('job', id)
end

local function whole(value)
    return string.format('%.0f', value)
end

local function number(value)
    return tonumber(value or 0) or 0
end

local clock = redis.call('TIME')
local now = number(clock[1]) * 1000 + math.floor(number(clock[2]) / 1000)

-- Adds to the matches of this stretch of ten seconds. The last hour is kept, in a ring of 'stretch count'.
local function keep_pace(matches)
    local stretch = math.floor(now / 10000)
    local place = whole(stretch % 360)
    local kept = redis.call('HGET', key('pace'), place)
    local before = kept and kept:match('^' .. whole(stretch) .. ' (%d+)$')
    redis.call('HSET', key('pace'), place, whole(stretch) .. ' ' .. whole(number(before) + number(matches)))
end

local function count(field, by)
    redis.call('HINCRBY', key('metrics'), field, by or 1)
    if field:sub(1, 8) == 'matches|' then
        keep_pace(by)
    end
end

local function is_live(state)
    return state == 'queued' or state == 'running' or state == 'paused'
end

-- An owner's load: the jobs that have not ended, and their matches. A job says itself whether it is counted there.
local function load_of(owner)
    local found = redis.call('HMGET', key('loads'), owner .. '|jobs', owner .. '|matches')
    return number(found[1]), number(found[2])
end

local function set_load(id, counted)
    local job = redis.call('HMGET', job_key(id), 'owner', 'matches', 'counted')
    if (job[3] == '1') == counted then
        return
    end
    local jobs, matches = load_of(job[1])
    local by = counted and 1 or -1
    if jobs + by > 0 then
        redis.call('HSET', key('loads'), job[1] .. '|jobs', whole(jobs + by),
            job[1] .. '|matches', whole(matches + by * number(job[2])))
    else
        redis.call('HDEL', key('loads'), job[1] .. '|jobs', job[1] .. '|matches')
    end
    redis.call('HSET', job_key(id), 'counted', counted and '1' or '0')
end

-- What keeps an owner from having so many more matches under way in one more job: 'jobs', 'matches' or nothing. 0: no limit.
local function over_quota(owner, more, most_jobs, most_matches)
    local jobs, matches = load_of(owner)
    if most_jobs > 0 and jobs + 1 > most_jobs then
        return 'jobs'
    elseif most_matches > 0 and matches + more > most_matches then
        return 'matches'
    end
end

-- Indexes a job under another state.
local function move(id, state)
    local was = redis.call('HMGET', job_key(id), 'state', 'sequence')
    redis.call('ZREM', key('jobs', was[1]), id)
    redis.call('ZADD', key('jobs', state), was[2], id)
    redis.call('HSET', job_key(id), 'state', state)
    set_load(id, is_live(state))
end

-- Fair shares: owners stand in line by their virtual time, and so do the jobs of each owner. Whoever is served is
-- charged; whoever is charged least is next; whoever joins starts at the least charge of those who stand there.
local function least(line)
    return number(redis.call('ZRANGE', line, 0, 0, 'WITHSCORES')[2])
end

local function enqueue(id)
    local job = redis.call('HMGET', job_key(id), 'engine_version', 'owner', 'virtual')
    local owners, line = key('owners', job[1]), key('line', job[1], job[2])
    if not redis.call('ZSCORE', line, id) then
        redis.call('ZADD', line, string.format('%.6f', math.max(number(job[3]), least(line))), id)
    end
    if not redis.call('ZSCORE', owners, job[2]) then
        redis.call('ZADD', owners, string.format('%.6f', least(owners)), job[2])
    end
end

local function dequeue(id)
    local job = redis.call('HMGET', job_key(id), 'engine_version', 'owner')
    local line = key('line', job[1], job[2])
    local virtual = redis.call('ZSCORE', line, id)
    if virtual then
        redis.call('HSET', job_key(id), 'virtual', virtual)
        redis.call('ZREM', line, id)
    end
    if redis.call('EXISTS', line) == 0 then
        redis.call('ZREM', key('owners', job[1]), job[2])
    end
end

-- A job is charged by whole steps of a share, with the rest kept for later. Jobs shorter than a step so stay where they
-- joined and end in the order they came, rather than go round by turns and end together. A power of two: sums stay exact.
local CHARGE_STEP = 0.125

local function charge(id, seconds)
    local job = redis.call('HMGET', job_key(id), 'engine_version', 'owner', 'weight', 'uncharged')
    local owners, line = key('owners', job[1]), key('line', job[1], job[2])
    local share = number(job[4]) + seconds / number(job[3])
    local charged = math.floor(share / CHARGE_STEP) * CHARGE_STEP
    redis.call('HSET', job_key(id), 'uncharged', string.format('%.6f', share - charged))
    if redis.call('ZSCORE', line, id) then
        redis.call('ZINCRBY', line, string.format('%.3f', charged), id)
    else
        redis.call('HINCRBYFLOAT', job_key(id), 'virtual', string.format('%.3f', charged))
    end
    if redis.call('ZSCORE', owners, job[2]) then
        redis.call('ZINCRBY', owners, string.format('%.6f', seconds), job[2])
    end
end

-- A lease is named `job|run|kind|first|end`: kind `c` for a chunk, `a` for an audit of one.
local function lease_name(id, run, kind, first, last)
    return table.concat({ id, run, kind, first, last }, '|')
end

local function lease_parts(name)
    return string.match(name, '^([^|]+)|(%d+)|(%a)|(%d+)|(%d+)$')
end

-- Token, worker, time granted and seconds charged of a lease; nothing where it is not held.
local function lease_terms(name)
    local terms = redis.call('HGET', key('leases', 'terms'), name)
    if terms then
        return string.match(terms, '^(%d+) (%S+) (%d+) (%S+)$')
    end
end

local function drop_lease(name)
    redis.call('ZREM', key('leases'), name)
    redis.call('HDEL', key('leases', 'terms'), name)
end

local function drop_leases(id)
    for _, name in ipairs(redis.call('ZRANGE', key('leases'), 0, -1)) do
        if lease_parts(name) == id then
            drop_lease(name)
        end
    end
end

-- A chunk, or an audit of one, goes back to be claimed again.
local function put_back(id, kind, first, last)
    redis.call('RPUSH', job_key(id, kind == 'a' and 'audit_line' or 'retry'), first .. ' ' .. last)
    if redis.call('HGET', job_key(id), 'state') ~= 'paused' then
        enqueue(id)
    end
end

local function drop_work(id)
    for _, part in ipairs({ 'layout', 'retry', 'attempts', 'done', 'speeds', 'audits', 'audit_line', 'pending' }) do
        redis.call('DEL', job_key(id, part))
    end
end

-- Ends a job: nothing more is claimed, held or taken. What its journal holds is still folded.
local function finish(id, state, reason)
    dequeue(id)
    drop_leases(id)
    drop_work(id)
    move(id, state)
    redis.call('HSET', job_key(id), 'finished_at', whole(now), 'error', reason or '')
    if redis.call('HGET', job_key(id), 'keep') ~= '1' then
        redis.call('ZADD', key('expiring'), whole(now), id)
    end
end

-- Stores the scenarios' places on the job's line of blocks: `first end step traits`, a line each.
local function lay_out(id, layout)
    local scenario = 0
    for line in string.gmatch(layout, '[^\n]+') do
        redis.call('HSET', job_key(id, 'layout'), scenario, line)
        scenario = scenario + 1
    end
end

-- A permit gets a new generation and is to be sent: every older message of its slot ends itself.
local function issue(version, slot, patience)
    local generation = whole(redis.call('INCR', key('generations')))
    redis.call('HSET', key('permits', version), slot, generation)
    redis.call('ZADD', key('permits', version, 'deadlines'), whole(now + patience), slot)
    redis.call('SREM', key('permits', version, 'parked'), slot)
    return { version, tostring(slot), generation }
end

local function wake(version, patience)
    local issued = {}
    for _, slot in ipairs(redis.call('SMEMBERS', key('permits', version, 'parked'))) do
        issued[#issued + 1] = issue(version, slot, patience)
    end
    return issued
end
