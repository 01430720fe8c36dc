"""Placements compared in worlds, compiled: the same worlds for each (`policies.pimc.best_of`)."""

from workers.engine.compile import compiled
from workers.engine.policies.program import Finish
from workers.engine.scalar.bits import bit, lowest, word
from workers.engine.scalar.layout import ALL, EMPTY, NONE, PLAYERS, ZERO, Integers, Word, Words
from workers.engine.search.best import WORST, ends_by, finish_words, keep_best
from workers.engine.search.exact import exact_worth
from workers.engine.search.layout import Search
from workers.engine.search.outcome import worth
from workers.engine.search.playout import play_out

_TOP = int(Finish.TOP)


@compiled()
def choose_by_worlds(
    rules: Integers, tile_sets: Words, figures: Integers, search: Search, row: int, worlds: int, is_exact: bool, left: Word,
    right: Word, left_end: int, right_end: int, leader: int, seat: int, lacks: Words, line: Word,
) -> int:  # fmt: skip
    """The placement that is worth most over the first `worlds` rows of `search.worlds`, coded as in `scalar.choose`.

    A world is played out by the program of the stage, or perfectly where `is_exact`.
    """
    players = rules[PLAYERS]
    off_line = tile_sets[ALL] & ~line
    kept_left = kept_right = EMPTY
    most = WORST
    for side in range(2):
        rest = right if side else left
        while rest:
            tile = lowest(rest)
            one = bit(tile)
            rest ^= one
            total = ZERO
            for world in range(worlds):
                for each in range(players):
                    search.hands[word(2 * each)] = search.worlds[word(world), word(each)]
                    search.lacks[word(each)] = lacks[word(each)]
                if is_exact:
                    first, second = ends_by(figures, tile, side, left_end, right_end)
                    total += exact_worth(rules, tile_sets, figures, search, leader, seat, tile, first, second)
                else:
                    # The placement itself is no decision of the playout, which counts its plies from the next one.
                    _, end = play_out(
                        rules, tile_sets, figures, search, row, leader, seat, EMPTY if side else one, one if side else EMPTY,
                        left_end, right_end, off_line, search.bases[word(world)], NONE,
                    )  # fmt: skip
                    total += worth(rules, end, seat)
            most, kept_left, kept_right = keep_best(total, one, side, most, kept_left, kept_right)
    return finish_words(_TOP, kept_left, kept_right, left_end, right_end, EMPTY)
