-- Stores a job once; answers what became of it, the job's id or the limit that is reached, permits to send, and where there is
-- a job its fields, the engine versions that workers have, and the time in milliseconds. ARGV: id, spec, layout, owner, client
-- key or '', digest of the request, engine version, patience of a permit, whether the caller can send permits, most jobs and
-- matches that the owner may have under way (0: any), the job's matches, then the job's fields as name, value, ...
local id, spec, layout, owner, client_key, digest, version = unpack(ARGV, 1, 7)
local patience, may_send = number(ARGV[8]), ARGV[9] == '1'

local function answer(outcome, id, issued)
    return { outcome, id, issued, redis.call('HGETALL', job_key(id)), redis.call('HGETALL', key('versions')), whole(now) }
end

if client_key ~= '' then
    local known = redis.call('HMGET', key('client_key', owner, client_key), 'id', 'digest')
    if known[1] then
        return answer(known[2] == digest and 'same' or 'other', known[1], {})
    end
end
if redis.call('EXISTS', job_key(id)) == 1 then
    return answer(redis.call('HGET', job_key(id), 'digest') == digest and 'same' or 'other', id, {})
end
local excess = over_quota(owner, number(ARGV[12]), number(ARGV[10]), number(ARGV[11]))
if excess then
    return { 'quota', excess, {}, {}, {}, whole(now) }
end

local sequence = whole(redis.call('INCR', key('sequence')))
local job = job_key(id)
redis.call('HSET', job, 'owner', owner, 'client_key', client_key, 'digest', digest, 'engine_version', version,
    'sequence', sequence, 'run', sequence, 'state', 'queued', 'created_at', whole(now), unpack(ARGV, 13))
redis.call('SET', job_key(id, 'spec'), spec)
lay_out(id, layout)
if client_key ~= '' then
    redis.call('HSET', key('client_key', owner, client_key), 'id', id, 'digest', digest)
end
redis.call('ZADD', key('jobs'), sequence, id)
redis.call('ZADD', key('jobs', 'queued'), sequence, id)
for label, value in pairs(cjson.decode(redis.call('HGET', job, 'labels'))) do
    redis.call('ZADD', key('label', label .. '=' .. value), sequence, id)
end
set_load(id, true)
enqueue(id)
return answer('created', id, may_send and wake(version, patience) or {})
