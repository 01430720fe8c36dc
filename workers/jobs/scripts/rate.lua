-- May this owner make one more request? ARGV: owner, requests a minute, which may also come all at once. Answers 0, or the
-- milliseconds until it may. Kept is the time at which all that was used is given back.
local name, quota = key('rate', ARGV[1]), number(ARGV[2])
local step = 60000 / quota
local until_then = math.max(number(redis.call('GET', name)), now) + step
local early = until_then - now - 60000
if early > 0.001 then
    return math.ceil(early)
end
redis.call('SET', name, string.format('%.3f', until_then), 'PX', 120000)
return 0
