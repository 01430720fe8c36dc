"""The lane kernels: double-six and double-nine, 2 to 4 players, whole matches in lanes, every program, every round-end rule.

512 matches are under way at once and advance by one ply at every step, in loops without branches that the compiler turns into
vector code (`ply`, `narrow`); the few lanes whose round ends at a step are listed, settled, dealt anew and laid out again at
the next one (`round`, `deal`, `subsets`); so are those whose seat has to draw (`stock`). Preferences that count tiles (`fits`)
bring together the lanes that are still undecided (`undecided`); weighted sums are counted lane by lane (`score`). `match` is
the loop around it, `door` what Python calls, `layout` says what stands where, `bits` counts bits, `gather` lists lanes and
moves their words together, `room` makes the arrays. What depends on the set is made for its masks (`layout.Masks`):
`double_six` in words of 32 bits, `double_nine`, whose 55 tiles need 64, in half as many lanes at once. The two are compiled
and loaded one by one.

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
  what is there": preferences by masks take a third of their time, three of them -23 to -29 %.

Preferences that count something for each placement were scored one by one in strips of lanes, until every lane of a strip was
through. What came of that, as the time of a match by "double, this one, heaviest" against itself in that of `heaviest`:

- Distinct values and follow-ups as masks (which tiles are the last of a value, or of both): 1.78 to 1.07, 1.64 to 0.96.
- Mobility and unseen tiles one by one, but scalar, with the processor's count instruction and for lanes with a choice alone:
  2.0 to 2.4, no better than the strips. Two or three placements a lane cannot be foretold, so every lane costs a wrong guess.
- The same in vectors: of the tiles that fit the new ends only those of the new value without either present end differ between
  placements, so these are counted once for each value, and both ends take their greatest from seven counts: 1.9 to 1.7.
- Openings, where both halves bring their suits, in vectors of their own, as binary digits for each tile: 1.7 to 1.6.
- Only lanes with a choice, two in five at 2 players, brought together in columns; their list written four numbers at once, not
  one by one, which had cost as much as it saved; seven counts as sums of fields of three bits, where no instruction counts in
  vectors: 1.58 to 1.51 and 1.54 to 1.45 (mobility, unseen).
- No lane whose choice is between doubles, which leave the ends as they are, and none that opens: 1.49 and 1.47. A pass of its
  own for the most and for the fewest: 1.47 and 1.44. A first preference for doubles made where placements are listed: 1.41
  and 1.37.

Drawing is a list of lanes at every ply, about one in four, and a bit in the ends of each line, of which plies know nothing:
`draw` costs 1.7 to 2.5 plies of `block` for each of its own, where one match after the other took 5.2 to 6.2; double-nine in
words of 64 bits costs 1.8 to 2.2, and took 4.8 to 5.6 (2 to 4 players, `random` and `heaviest`, busy machine, best of 4 turns).
Its hands come from a shuffle, whose steps are drawn in vectors and made lane by lane. Of values that double-six does not have
the masks are empty, so that the compiler drops what is done with them: `block` loses nothing by it (0.92 to 1.04 of its time
before, best of 5 turns of each).

A line that nobody can continue ends its round as soon as it is there, and its closing passes are only counted: a tenth fewer
plies. Steps belong to one program: rows belong to places of the lineup, and a lane whose leader's program is not due waits
for it, half a ply at 2 players, which costs less than running every program at every step.

The next were measured on a Skylake Xeon at 2.0 GHz, with AVX-512 but no count of bits in vectors, that shares its cores with
strangers: there a processor looks only half as far ahead. Turn by turn with the state before, 2 / 3 / 4 players at random:

- Vectors of 512 bits, which the compiler avoids by itself, or code for AVX2, which is as fast under load and 6 % faster in a
  quiet moment (`compile`): -17 / -14 / -16 %; and no gathers and scatters, which it likes: in dealing alone they cost 5 % of
  everything.
- What is called once a step made part of its caller: a call pushed a hundred words, seven for each array: -8 / -7 / -7 %.
- A ply in two loops, which choose and then place: one alone is a chain of a hundred cycles, of which the processor saw one at
  a time: 0 / -4 / -1 % here, -1 / -7 / -4 % in vectors of 256 bits.
- A lane's record in one cache line, what is seldom needed elsewhere; a segment's word that needs no taking apart: -3 / -3 /
  -4 %.
- Counts turned into binary digits for each tile, of which kept tiles keep the greatest, instead of seven counts that every step
  comes back to and that no processor has registers for: "double, mobility, heaviest" -8 %.
- Matches tallied by a compiled loop (`scalar.count`) instead of in numpy: -20 % of all that a job of three players takes.

What brought nothing there: hands looked up for whole vectors (+5 %), the next rounds' leaders and bases in columns of their
own (+6 / 0 / +2 %), all arrays in one large page (0 to -1 %), 256 lanes or 1,024 (+4 to +7 %).

The next again on the first machine, by a profile that samples instructions; "double, mobility, heaviest" against itself took
1.53 times as long as `heaviest` there, with unseen tiles 1.50:

- Undecided lanes brought together by eight, one permutation for each row by an order looked up by the eight marks, and put back
  in the same way, instead of word by word through a list: 1.43 and 1.42. Put back by masked stores it was slower than word by
  word; they alone took a sixth of the program.
- Scores without the tiles of one end, so that the ends differ by one count of bits instead of two; counts left in a product's
  highest bits; after doubles a pass of its own, which needs neither them nor what is kept: 1.38 and 1.38.
- That pass in two loops, which count and then choose: nothing. Rows that begin a cache line: nothing.

Measured beside plain scalar C on a quiet AVX2 machine without AVX-512 (best of 9 turns each, by the clock): `random` 4.9 at 2
players, 2.5 at 3, 2.6 at 4 (medians 4.2, 2.5 and 2.4); `heaviest` against `random` 5.2; `linear` against itself 0.95 of what C
plays at random. That was before the steps on the Xeon. There, with them (`blockyard simulate`, tallies and all, best of 7
turns, medians in brackets): 3.65 (3.71) at 2 players, 2.42 (2.46) at 3, 2.61 (2.56) at 4, `heaviest` against `random` 3.70
(3.29); "double, heaviest, random" against itself takes 1.4 to 1.5 times as long as `heaviest`, mobility and unseen took 1.56
and 1.59 before they were brought together by eight. On the first machine, quiet, with everything (best of 4 turns, medians in
brackets): 4.0 (4.4) at 2 players, 2.8 (2.7) at 3, 2.8 (2.8) at 4, `heaviest` against `random` 4.3 (4.3), `linear` against
itself 0.80 (0.90).

A match of "double, this one, heaviest" against itself costs, in matches of `heaviest` against itself (quiet, best of 24 turns):
lightest 0.7, equal ends and no follow-up 1.0, distinct, next or other lacks 1.1, mobility and unseen 1.4; "double, heaviest,
random" 1.3. Two that count come to 1.7 (distinct, mobility, heaviest), three to 2.1 (mobility, distinct, unseen; both busy, and
before the last steps). Against `random` it is 1.0 to 1.4 of what `heaviest` costs there.

Where the time went on the first machine, `random`, of about 90 / 100 / 135 ns a round: placing 23 / 20 / 22 %, dealing 19 /
14 / 15 % (its tables are a third of a megabyte at 2 players and feel every neighbour in the second-level cache) and Philox 6
%, decisions' numbers 12 / 11 / 10 %, laying out and opening 12 / 12 / 10 %, settling 11 / 10 / 7 %, judging 5 / 10 / 12 %,
gathering ended lanes and copying the mover's hand 8 %, results 1 / 3 / 4 %. Of a placement's 130 or so vector instructions
for eight lanes a fifth count bits, a fifth drop bits down to the chosen one, and a fifth find the new suit; with AVX-512 the
first would be two.
Mobility takes three tenths of a program's time at 2 players: half of that counts, a quarter brings lanes together and back, an
eighth marks them, an eighth are openings.
Weighted sums take four fifths of a program's time, some fifty instructions for each placement of a lane with a choice.

A cached start is the loading of numba and numpy, a second of one core. numba looks for scipy's linear algebra and for cffi by
importing them, which took two fifths of a start; they are hidden from it (`compile.load_numba`). Only the kernel that a ruleset
needs is loaded, and 95 % intervals do without scipy.
"""

from workers.engine.compile import load_numba

load_numba()
