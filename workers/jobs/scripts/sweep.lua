-- Brings back what was lost. ARGV: patience of a permit in milliseconds, permits for each worker process, whether the
-- caller can send permits, root of the queues' names, leases that a chunk may lose.
-- Answers the permits to be sent.
local patience, ratio, may_send, queues, max_lost = number(ARGV[1]), number(ARGV[2]), ARGV[3] == '1', ARGV[4], number(ARGV[5])

for _, name in ipairs(redis.call('ZRANGEBYSCORE', key('leases'), '-inf', whole(now), 'LIMIT', 0, 200)) do
    local id, run, kind, first, last = lease_parts(name)
    drop_lease(name)
    local job = redis.call('HMGET', job_key(id), 'state', 'run')
    if job[2] == run and is_live(job[1]) then
        count('chunks|abandoned')
        if redis.call('HINCRBY', job_key(id, 'attempts'), first .. ' lost', 1) > max_lost then
            finish(id, 'failed', string.format(
                'blocks %s to %s (counted over all scenarios) were given up by workers that stopped, %s times',
                first, whole(number(last) - 1), whole(max_lost + 1)))
        else
            put_back(id, kind, first, last)
        end
    end
end

redis.call('ZREMRANGEBYSCORE', key('workers'), '-inf', whole(now))
local processes = {}
for _, name in ipairs(redis.call('ZRANGE', key('workers'), 0, -1)) do
    local worker = redis.call('HMGET', key('worker', name), 'engine_version', 'processes', 'draining')
    if worker[1] and worker[3] ~= '1' then
        processes[worker[1]] = (processes[worker[1]] or 0) + number(worker[2])
    end
end

local issued = {}
if not may_send then
    return issued
end
for _, version in ipairs(redis.call('HKEYS', key('versions'))) do
    local permits, deadlines, parked = key('permits', version), key('permits', version, 'deadlines'), key('permits', version, 'parked')
    local wanted = math.ceil((processes[version] or 0) * ratio)
    local has_work = redis.call('EXISTS', key('owners', version)) == 1
    -- While the queue is full of messages nothing is lost, only waiting.
    local is_waiting = redis.call('LLEN', queues .. ':' .. version) >= wanted
    for slot = 0, wanted - 1 do
        local deadline = redis.call('ZSCORE', deadlines, slot)
        if redis.call('SISMEMBER', parked, slot) == 1 then
            if has_work then
                issued[#issued + 1] = issue(version, slot, patience)
            end
        elseif not is_waiting and (not deadline or number(deadline) < now) then
            issued[#issued + 1] = issue(version, slot, patience)
        end
    end
    for _, slot in ipairs(redis.call('HKEYS', permits)) do
        if number(slot) >= wanted then
            redis.call('HDEL', permits, slot)
            redis.call('ZREM', deadlines, slot)
            redis.call('SREM', parked, slot)
        end
    end
    if number(redis.call('HGET', key('versions'), version)) < now and wanted == 0 then
        redis.call('HDEL', key('versions'), version)
    end
end
return issued
