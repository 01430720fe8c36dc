-- The jobs that have something to fold, if nobody else is folding, nor has begun to within the patience of whoever asks. ARGV:
-- token, milliseconds of the lock, who asks, milliseconds of patience.
local unfolded = redis.call('SMEMBERS', key('unfolded'))
local folder, begun_at = string.match(redis.call('GET', key('folder')) or '', '^(%S+) (%d+)$')
if folder and folder ~= ARGV[3] and now - number(begun_at) < number(ARGV[4]) then
    return {}
end
if #unfolded == 0 or not redis.call('SET', key('folding'), ARGV[1], 'NX', 'PX', ARGV[2]) then
    return {}
end
redis.call('SET', key('folder'), ARGV[3] .. ' ' .. whole(now))
return unfolded
