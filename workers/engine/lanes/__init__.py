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

A line that nobody can continue ends its round as soon as it is there, and its closing passes are only counted: a tenth fewer
plies. Steps belong to one program: rows belong to places of the lineup, and a lane whose leader's program is not due waits
for it, half a ply at 2 players, which costs less than running every program at every step.

Measured so (best of many short runs beside the C programs, busy machine): `random` 4.2 to 4.4 at 2 players, 2.3 to 2.6 at 3,
2.4 to 2.8 at 4; `heaviest` against `random` 4.1 to 4.6 of the same in C; `linear` against itself 0.9 of what C plays at random.

Where the time goes, `random` at 2 players, about 100 ns a round of 12.5 plies (waiting included): placing 29 %, settling and
judging 20 %, dealing 19 % (Philox 4 %), decisions' numbers 11 %, laying out and opening 12 %, gathering ended lanes 5 %. Of
a placement's 150 or so vector instructions for eight lanes a fifth count bits, a fifth drop bits down to the chosen one,
and a fifth find the new suit; with AVX-512 the first would be two. Programs that score placements one by one (mobility,
distinct, unseen, no follow-up, weights) take most of their time in that loop: its strips wait for the lane with most
placements, usually one that opens.
"""
