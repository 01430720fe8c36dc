"""Policies that consult others, compiled: what the scalar kernel asks where one of them sits in the match.

`decide` walks the stages of a plan, `layout` says what it reads, `best` chooses by a program, `worlds` samples hidden hands,
`playout` plays a world out, `pimc` compares placements by it, `ismcts` grows a tree by it. A match without such policies is
played by code in which none of this stands: numba compiles one form of the kernel with it and one without, and this one when it
is first needed.
"""
