"""One world played out by a program, compiled: `policies.pimc.play_out` from after the placement."""

import numpy as np

from workers.engine.compile import compiled
from workers.engine.policies.program import Finish
from workers.engine.scalar.bits import bit, word
from workers.engine.scalar.layout import EMPTY, PLAYERS, ZERO, Integers, Word, Words
from workers.engine.scalar.random import decision_word
from workers.engine.scalar.settle import pips_outside, settle_blocked, side_of
from workers.engine.search.best import best_placement, ends_by, finish_words, legal_words
from workers.engine.search.layout import FINISH, KEYS, Search

_TOP = int(Finish.TOP)
_ONE = np.uint64(1)


@compiled()
def play_out(
    rules: Integers, tile_sets: Words, figures: Integers, search: Search, row: int, leader: int, seat: int, placed: int,
    left_end: int, right_end: int, off_line: Word, world: int,
) -> int:  # fmt: skip
    """What it is worth for `seat` to place the tile `placed`, after which the ends are these, in a world.

    `search.hands` holds the world's hands with that tile still in them, `search.lacks` what is known now; both are played
    with. `off_line` are the tiles that are not on the line once it is placed.
    """
    hands, lacks = search.hands, search.lacks
    players = rules[PLAYERS]
    own = side_of(rules, seat)
    mover, passes_in_a_row = seat, ZERO
    hand = hands[word(2 * mover)] & ~bit(placed)
    is_random = search.stages[word(row), FINISH] != _TOP
    is_plain = search.stages[word(row), KEYS] == 0
    random_word = EMPTY
    ply = ZERO
    while True:
        hands[word(2 * mover)] = hand
        if hand == 0:
            award = pips_outside(rules, tile_sets, hands, side_of(rules, mover))
            return award if side_of(rules, mover) == own else -award
        while True:
            mover = mover + 1 if mover + 1 < players else 0
            hand = hands[word(2 * mover)]
            left, right = legal_words(tile_sets, hand, left_end, right_end)
            either = left | right
            if either:
                break
            lacks[word(mover)] |= bit(left_end) | bit(right_end)
            ply += 1
            passes_in_a_row += 1
            if passes_in_a_row >= players:
                winner, award = settle_blocked(rules, tile_sets, figures, hands, leader)
                if winner < 0:
                    return ZERO
                return award if side_of(rules, winner) == own else -award
        passes_in_a_row = ZERO
        if is_random:
            random_word = decision_word(search.bases[word(world)], mover, ply)
        ply += 1
        if is_plain or not (either & (either - _ONE) or left & right):
            placement = finish_words(search.stages[word(row), FINISH], left, right, left_end, right_end, random_word)
        else:
            others_lack = EMPTY
            for other in range(players):
                if other != mover:
                    others_lack |= lacks[word(other)]
            after = mover + 1 if mover + 1 < players else 0
            placement = best_placement(
                tile_sets, figures, search, row, left, right, left_end, right_end, hand, off_line & ~hand, lacks[word(after)],
                others_lack, random_word,
            )  # fmt: skip
        tile = placement >> 1
        left_end, right_end = ends_by(figures, tile, placement & 1, left_end, right_end)
        hand ^= bit(tile)
        off_line ^= bit(tile)
