-- Lets the next process fold. ARGV: token.
if redis.call('GET', key('folding')) == ARGV[1] then
    redis.call('DEL', key('folding'))
end
return 1
