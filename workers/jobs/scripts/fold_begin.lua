-- The jobs that have something to fold, if nobody else is folding. ARGV: token, milliseconds of the lock.
local unfolded = redis.call('SMEMBERS', key('unfolded'))
if #unfolded == 0 or not redis.call('SET', key('folding'), ARGV[1], 'NX', 'PX', ARGV[2]) then
    return {}
end
return unfolded
