"""The lane kernel: double-six without drawing, 2 to 4 players, whole matches in lanes, every program and round-end rule.

512 matches are under way at once and advance by one ply at every step, in loops without branches that the compiler turns
into vector code (`ply`, `narrow`); the few lanes whose round ends at a step are listed, settled, dealt anew and laid out
again at the next one (`round`, `deal`, `subsets`). `match` is the loop around it, `door` what Python calls, `layout` says
what stands where, `bits` counts bits.

How the speed was reached
=========================
`random` in both seats, one core of a shared AVX2 machine without AVX-512 (Zen 3), as a multiple of what plain scalar C plays
there in the same minute; each step was measured against the one before.

- A match at a time, branch by branch, in scalar C: 1. The same without branches over lanes, but scalar: 1.5.
- Plies as vectors: a hand is a mask in rank order, *an end of the line is the mask of its suit*, so that placing is an
  exclusive or with the suits of the tile's halves, and no table is looked up. With lanes settled one call at a time: 1.3,
  since every call counted references to a dozen arrays and pushed them on the stack.
- No reference counts, one call for a list of lanes instead of one for each lane: 2.2.
- Hands by number from tables that fit the cache instead of one of 5 MB: 2.9; with segments counted by a bit word for each 64
  numbers instead of searched: 3.3.
- Rounds judged as columns of a table, in vectors, with loops over seats written out: 3.2 to 3.3.
- Tests of bits kept in 32 bits (`uint32(a & b) != 0`; numba alone compares in 64, half as many lanes at once): 3.5.
- Unsigned indexes in everything that is scalar (a signed one gets code that lets it count from the end): 4.1.
- Both lists of settled lanes written and one moved on, instead of a branch; ended lanes gathered eight at a time; scores of
  matches under way kept out of the result's cold memory: 4.2 to 4.4.
- Rows a cache line wider than the lanes, or 128, 256 or 1,024 lanes: no difference beyond the noise.

Each of the next took the time from the state before it, measured in turns with it (best of many, `random`, 2 / 3 / 4 players):

- The bits dropped down to the chosen one written out: with a loop inside, the compiler takes the first lane out of the loop
  over lanes, and eight lanes are then played one by one; three instructions a bit instead of four, and six tests for the new
  suit instead of seven: -13 / -10 / -5 %.
- Lots drawn for 512 blocks at a time, in vectors; points and rounds won in one number of the lane's record, which one pointer
  reaches; plies counted by steps instead of by lanes; results written in a loop of their own: 0 / -8 / -5 %.
- The work table computed by 8 columns instead of 16, in one loop: two loops of which the inner has 8 turns are unrolled
  and then no vectors any more, three times as slow.
- No masked stores, which an AVX2 machine may need tens of cycles for and which the compiler makes of "the new value or else
  what is there": preferences by masks take a third of their time, three of them -23 to -29 %, scoring one by one -15 %.
- Strips of 16 instead of 32 lanes where placements are scored one by one: no gain.

A line that nobody can continue ends its round as soon as it is there, and its closing passes are only counted: a tenth fewer
plies. Steps belong to one program: rows belong to places of the lineup, and a lane whose leader's program is not due waits
for it, half a ply at 2 players, which costs less than running every program at every step.

Measured so (best of some short runs beside the C programs, by processor time, on a busy AVX2 machine, so from run to run):
`random` 3.4 to 4.2 at 2 players, 2.2 to 3.1 at 3, 2.3 to 2.6 at 4, where the state before these last steps had 2.9 to 3.9, 2.0
to 2.8 and 2.3 to 2.7 in the same runs; `linear` against itself 0.8 to 0.9 of what C plays at random. By matches, three
preferences cost 1.3 to 1.4 (double, heaviest, random) and 1.1 to 1.2 (double, next_lacks, heaviest) times what `heaviest`
does; 1.5 to 2.1 where one of them scores placements one by one (double, mobility, heaviest).

Where the time goes, `random`, of about 90 / 100 / 135 ns a round: placing 23 / 20 / 22 %, dealing 19 / 14 / 15 % (its tables
are a third of a megabyte at 2 players and feel every neighbour in the second-level cache) and Philox 6 %, decisions' numbers
12 / 11 / 10 %, laying out and opening 12 / 12 / 10 %, settling 11 / 10 / 7 %, judging 5 / 10 / 12 %, gathering ended lanes
and copying the mover's hand 8 %, results 1 / 3 / 4 %. Of a placement's 130 or so vector instructions for eight lanes a fifth
count bits, a fifth drop bits down to the chosen one, and a fifth find the new suit; with AVX-512 the first would be two.
Programs that score placements one by one (mobility, distinct, unseen, no follow-up, weights) take most of their time in that
loop: its strips wait for the lane with most placements, five or so, where a lane has two on average and half have no choice.

A cached start is mostly the loading of numba, numpy and scipy.
"""
