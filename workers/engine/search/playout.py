"""One world played out by a program, compiled: `policies.pimc.finish_round` from a first placement on."""

import numpy as np

from workers.engine.compile import compiled
from workers.engine.policies.program import Finish
from workers.engine.scalar.bits import bit, word
from workers.engine.scalar.layout import EMPTY, NONE, PLAYERS, Integers, Word, Words
from workers.engine.scalar.random import decision_word
from workers.engine.search.best import best_placement, ends_by, finish_words
from workers.engine.search.layout import FINISH, KEYS, Search
from workers.engine.search.outcome import was_blocked, went_out
from workers.engine.search.turn import next_to_place

_TOP = int(Finish.TOP)
_ONE = np.uint64(1)


@compiled()
def play_out(
    rules: Integers, tile_sets: Words, figures: Integers, search: Search, row: int, leader: int, mover: int, left: Word,
    right: Word, left_end: int, right_end: int, off_line: Word, base: Word, ply: int,
) -> tuple[int, int]:  # fmt: skip
    """(first placement, end as in `outcome`) of a world in which `mover` places one of `left` and `right` first.

    `search.hands` holds the world's hands, `search.lacks` what is known; both are played with. `off_line` are the tiles that
    are not on the line, `base` and `ply` the address of the first random number.
    """
    hands, lacks = search.hands, search.lacks
    players = rules[PLAYERS]
    hand = hands[word(2 * mover)]
    is_random = search.stages[word(row), FINISH] != _TOP
    is_plain = search.stages[word(row), KEYS] == 0
    random_word = EMPTY
    first = NONE
    while True:
        if is_random:
            random_word = decision_word(base, mover, ply)
        ply += 1
        either = left | right
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
        if first < 0:
            first = placement
        tile = placement >> 1
        left_end, right_end = ends_by(figures, tile, placement & 1, left_end, right_end)
        hand ^= bit(tile)
        off_line ^= bit(tile)
        hands[word(2 * mover)] = hand
        if hand == 0:
            return first, went_out(rules, tile_sets, hands, mover)
        mover, left, right, passes = next_to_place(rules, tile_sets, search, mover, left_end, right_end)
        if passes >= players:
            return first, was_blocked(rules, tile_sets, figures, hands, leader)
        hand = hands[word(2 * mover)]
        ply += passes
