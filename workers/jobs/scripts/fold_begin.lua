-- The jobs that have something to fold, if nobody else is folding, nor has begun to within the patience of whoever asks. ARGV:
-- token, milliseconds of the lock, who asks, milliseconds of patience.
local unfolded = redis.call('SMEMBERS', key('unfolded'))
local folder, begun_at = string.match(redis.call('GET', key('folder')) or '', '^(%S+) (%d+)$')
-- A time to come is of a clock that has been put back: nobody waits for it.
local age = now - number(begun_at)
if folder and folder ~= ARGV[3] and age >= 0 and age < number(ARGV[4]) then
    return {}
end
if #unfolded == 0 or not redis.call('SET', key('folding'), ARGV[1], 'NX', 'PX', ARGV[2]) then
    return {}
end
redis.call('SET', key('folder'), ARGV[3] .. ' ' .. whole(now))
return unfolded
