"""The scalar kernel: every ruleset and every program, match by match, compiled once.

`door` is called from Python; `match` loops over matches, `round` over plies, `choose` runs the policies' programs, `settle`
ends rounds and matches, `deal` and `random` are the addressed deals and numbers, `layout` says what stands where in the
arrays, `bits` counts bits.
"""
