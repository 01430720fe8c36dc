-- A worker shows that it is alive. ARGV: name, host, process id, processes, engine version, milliseconds to live, 1 when it
-- has just started. Answers 1 when it shall take no more work.
local name, host, process, processes, version, life, is_new = unpack(ARGV, 1, 7)
local worker, recorded = key('worker', name), key('worker', name, 'recorded')
if is_new == '1' then
    redis.call('DEL', worker, recorded)
end
-- A worker that was out of reach for longer than its life has no record either, and counts as started when it is back.
redis.call('HSETNX', worker, 'started_at', whole(now))
local was = redis.call('HMGET', worker, 'busy', 'beat_at', 'ratio', 'draining')
local busy = number(redis.call('HGET', recorded, 'busy'))
local ratio = number(was[3])
local elapsed = now - number(was[2])
if was[2] and elapsed > 0 then
    ratio = (ratio + math.min(1, math.max(0, (busy - number(was[1])) / (elapsed * number(processes))))) / 2
end
redis.call('HSET', worker, 'host', host, 'pid', process, 'processes', processes, 'engine_version', version,
    'busy', whole(busy), 'beat_at', whole(now), 'ratio', string.format('%.4f', ratio))
redis.call('PEXPIRE', worker, life)
redis.call('ZADD', key('workers'), whole(now + number(life)), name)
redis.call('HSET', key('versions'), version, whole(now + number(life)))
return was[4] == '1' and 1 or 0
