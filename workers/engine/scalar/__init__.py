"""The scalar kernel: every ruleset and every program, match by match, compiled once.

`door` is called from Python; `match` loops over matches, `round` over plies, `choose` runs the policies' programs, `settle`
ends rounds and matches, `deal` and `random` are the addressed deals and numbers, `layout` says what stands where in the
arrays, `bits` counts bits, `nth` finds the tile at a place. `count` adds up finished matches, whoever played them.

What it is called for every round or ply is written out where it is called: a call passes on every part of a dozen arrays,
which took as long as a ply. Indexes become unsigned words first, since for a signed one numba lets it count from the end.
Hands are gathered while the set is shuffled, and pips are counted once for each hand of a blocked round: a tenth to a seventh
less for double-twelve, where a deal still takes a quarter of the time (a ply: 30 to 35 ns down to 27 to 32). That closing
passes are played although they could be counted makes no difference that could be measured.
"""

from workers.engine.compile import load_numba

load_numba()
