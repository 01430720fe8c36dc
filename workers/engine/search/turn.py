"""Whose turn comes next in a world that is played out: one after the other passes until somebody can place."""

from workers.engine.compile import compiled
from workers.engine.scalar.bits import bit, word
from workers.engine.scalar.layout import PLAYERS, ZERO, Integers, Word, Words
from workers.engine.search.best import legal_words
from workers.engine.search.layout import Search


@compiled(inline=True)
def next_to_place(
    rules: Integers, tile_sets: Words, search: Search, mover: int, left_end: int, right_end: int
) -> tuple[int, Word, Word, int]:
    """(seat, its tiles at the left end, those at the right end, passes before it) after `mover` has placed.

    As many passes as there are players mean that nobody can place: the round is blocked. `search.hands` are the hands, and
    `search.lacks` learns of the passes.
    """
    hands, lacks = search.hands, search.lacks
    players = rules[PLAYERS]
    passes = ZERO
    while True:
        mover = mover + 1 if mover + 1 < players else 0
        left, right = legal_words(tile_sets, hands[word(2 * mover)], left_end, right_end)
        if left | right:
            return mover, left, right, passes
        lacks[word(mover)] |= bit(left_end) | bit(right_end)
        passes += 1
        if passes >= players:
            return mover, left, right, passes
