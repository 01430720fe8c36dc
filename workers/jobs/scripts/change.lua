-- A user's wish for a job. ARGV: verb, job, patience of a permit, whether the caller can send permits; for restart also
-- engine version, spec, layout, request id, most jobs and matches of the owner (0: any); for delete the seconds for which it is
-- known that the job was there (0: none). Answers {missing | conflict | changed | same | jobs or matches, where the owner has too
-- many under way, permits to be sent}.
local verb, id, patience, may_send = ARGV[1], ARGV[2], number(ARGV[3]), ARGV[4] == '1'
local job = redis.call('HMGET', job_key(id), 'state', 'engine_version', 'started_at', 'owner', 'client_key', 'labels',
    'matches')
local state, version = job[1], job[2]
if not state then
    local is_gone = verb == 'delete' and redis.call('EXISTS', key('deleted', id)) == 1
    return { is_gone and 'same' or 'missing', {} }
end

local function woken()
    return may_send and wake(version, patience) or {}
end

if verb == 'cancel' then
    if state == 'cancelled' then
        return { 'same', {} }
    elseif not is_live(state) then
        return { 'conflict', {} }
    end
    finish(id, 'cancelled')
elseif verb == 'pause' then
    if state == 'paused' then
        return { 'same', {} }
    elseif not is_live(state) then
        return { 'conflict', {} }
    end
    dequeue(id)
    move(id, 'paused')
elseif verb == 'resume' then
    if state == 'queued' or state == 'running' then
        return { 'same', {} }
    elseif state ~= 'paused' then
        return { 'conflict', {} }
    end
    move(id, number(job[3]) > 0 and 'running' or 'queued')
    redis.call('HSET', job_key(id), 'rate_at', whole(now))
    enqueue(id)
    return { 'changed', woken() }
elseif verb == 'restart' then
    if is_live(state) and version == ARGV[5] then
        return { 'same', {} }
    end
    local excess = not is_live(state) and over_quota(job[4], number(job[7]), number(ARGV[9]), number(ARGV[10]))
    if excess then
        return { excess, {} }
    end
    dequeue(id)
    drop_leases(id)
    drop_work(id)
    redis.call('DEL', job_key(id, 'journal'), job_key(id, 'sums'))
    redis.call('SREM', key('unfolded'), id)
    redis.call('ZREM', key('expiring'), id)
    redis.call('HSET', job_key(id), 'engine_version', ARGV[5], 'run', whole(redis.call('INCR', key('sequence'))), 'cursor', 0,
        'cursor_scenario', 0, 'watermark', 0, 'chunk_blocks', 0, 'folded', 0, 'matches_done', 0, 'rate', 0, 'virtual', 0,
        'uncharged', 0, 'request_id', ARGV[8], 'test_state', '', 'error', '', 'started_at', 0, 'finished_at', 0,
        'created_at', whole(now))
    redis.call('SET', job_key(id, 'spec'), ARGV[6])
    lay_out(id, ARGV[7])
    move(id, 'queued')
    enqueue(id)
    version = ARGV[5]
    return { 'changed', woken() }
elseif verb == 'delete' then
    if is_live(state) then
        return { 'conflict', {} }
    end
    redis.call('ZREM', key('jobs'), id)
    redis.call('ZREM', key('jobs', state), id)
    redis.call('ZREM', key('expiring'), id)
    redis.call('SREM', key('unfolded'), id)
    for label, value in pairs(cjson.decode(job[6])) do
        redis.call('ZREM', key('label', label .. '=' .. value), id)
    end
    if job[5] ~= '' then
        redis.call('DEL', key('client_key', job[4], job[5]))
    end
    drop_work(id)
    redis.call('DEL', job_key(id), job_key(id, 'spec'), job_key(id, 'sums'), job_key(id, 'journal'))
    if number(ARGV[5]) > 0 then
        redis.call('SET', key('deleted', id), job[4], 'EX', ARGV[5])
    end
end
return { 'changed', {} }
