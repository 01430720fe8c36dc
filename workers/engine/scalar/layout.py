"""What the scalar kernel reads: rules, tables and programs as plain arrays, and the names of their places.

Letters in shapes: n seats, S tiles of the set. Every array has one type and one number of dimensions whatever the ruleset,
so that the kernel is compiled once.
"""

from functools import cache
from typing import Final, TypeAlias, cast

import numpy as np
import numpy.typing as npt

from workers.engine.rules import MAX_PLAYERS, MAX_ROUNDS, Ruleset
from workers.engine.tiles import is_double, pips, set_size, tile_set

Word: TypeAlias = np.uint64
Pair: TypeAlias = tuple[Word, Word]
"""A set of tiles: (low, high)."""
Legal: TypeAlias = tuple[Word, Word, Word, Word]
"""The tiles that join the left end (or open the line), then those that join the right end where it differs."""
Words: TypeAlias = npt.NDArray[np.uint64]
Integers: TypeAlias = npt.NDArray[np.int64]
Shorts: TypeAlias = npt.NDArray[np.uint16]


def typed(number: int) -> int:
    """A constant for kernels: for a bare 0 or -1 numba would compile what it is passed to once more for that very value."""
    return cast(int, np.int64(number))


ZERO: Final = typed(0)
NONE: Final = typed(-1)
"""No seat, no tile, no end: nobody won, a pass, an opening."""
EMPTY: Final = np.uint64(0)
"""No tiles."""

MAX_SEATS: Final = MAX_PLAYERS
MAX_TILES: Final = 91
MAX_WORDS: Final = 96
"""Random numbers of a deal, one a tile, in whole vectors."""
MAX_VALUES: Final = 13
MAX_PIPS: Final = 24
PIP_BITS: Final = 5
"""Binary digits of a tile's pips."""

# Places in the rules vector.
PLAYERS: Final = 0
TILES: Final = 1
VALUES: Final = 2
HAND: Final = 3
OPENS_BY_DOUBLE: Final = 4
NEXT_LEADER: Final = 5
BY_LIGHTEST_TILE: Final = 6
NET: Final = 7
TARGET: Final = 8
"""The smallest score that ends the match; 0 under a fixed number of rounds."""
LAST_ROUND: Final = 9
"""The number of rounds after which the match ends whatever the scores, as a win (fixed rounds) or unfinished."""
DRAWING: Final = 10
DRAW_LIMIT: Final = 11
RESERVE: Final = 12
PARTNERS: Final = 13
SIDE_TOTAL: Final = 14
UNRANKED: Final = 15
"""Whether hands are subsets by number (double-six) or come from a shuffle."""
RULES: Final = 16

LEADERS: Final = ("clockwise", "loser", "winner")
CLOCKWISE, LOSER, WINNER = range(3)

# Places in the table of tile sets; each set takes two words.
SUITS: Final = 0
"""By value: the tiles that show it."""
PIP_PLANES: Final = SUITS + 2 * MAX_VALUES
"""By binary digit: the tiles whose pips have it."""
PIP_CLASSES: Final = PIP_PLANES + 2 * PIP_BITS
"""By pips: the tiles that have them."""
DOUBLES: Final = PIP_CLASSES + 2 * (MAX_PIPS + 1)
ALL: Final = DOUBLES + 2
SETS_WORDS: Final = ALL + 2

# Places in the table of tiles.
PIPS: Final = 0
LOW: Final = MAX_TILES
TILES_NUMBERS: Final = 2 * MAX_TILES

# Places in a given position, after two words a seat for the hands; the stock stands last.
GIVEN_LEADER: Final = 2 * MAX_SEATS
GIVEN_ENDS: Final = GIVEN_LEADER + 1
"""Two ends, NONE before the opening."""
GIVEN_PASSES: Final = GIVEN_ENDS + 2
GIVEN_STOCK: Final = GIVEN_PASSES + 1

def encode_rules(ruleset: Ruleset) -> Integers:
    """`[RULES]`: the ruleset by the places above."""
    rules = np.zeros(RULES, np.int64)
    rules[PLAYERS] = ruleset.players
    rules[TILES] = set_size(ruleset.set)
    rules[VALUES] = ruleset.set + 1
    rules[HAND] = ruleset.hand
    rules[OPENS_BY_DOUBLE] = ruleset.opening == "highest_double"
    rules[NEXT_LEADER] = LEADERS.index(ruleset.next_leader)
    rules[BY_LIGHTEST_TILE] = ruleset.blocked_tie == "lightest_tile"
    rules[NET] = ruleset.blocked_award == "net"
    rules[TARGET] = (ruleset.ends.target or 0) + (ruleset.ends.at == "exceed")
    rules[LAST_ROUND] = ruleset.ends.rounds or MAX_ROUNDS
    if ruleset.draw is not None:
        rules[DRAWING] = 1
        rules[DRAW_LIMIT] = MAX_TILES if ruleset.draw.limit is None else ruleset.draw.limit
        rules[RESERVE] = ruleset.draw.reserve
    rules[PARTNERS] = ruleset.partners
    rules[SIDE_TOTAL] = ruleset.partners and ruleset.partner_count == "side_total"
    rules[UNRANKED] = ruleset.set == 6
    return rules


@cache
def set_tables(highest: int) -> tuple[Words, Integers]:
    """`[SETS_WORDS]` sets of tiles and `[TILES_NUMBERS]` figures of tiles, for the set up to this value."""
    masks = np.zeros(SETS_WORDS, np.uint64)
    figures = np.zeros(TILES_NUMBERS, np.int64)
    for tile, (low, high) in enumerate(tile_set(highest)):
        total = pips((low, high))
        figures[PIPS + tile] = total
        figures[LOW + tile] = low
        places = {SUITS + 2 * low, SUITS + 2 * high, PIP_CLASSES + 2 * total, ALL}
        places |= {PIP_PLANES + 2 * digit for digit in range(PIP_BITS) if total >> digit & 1}
        if is_double((low, high)):
            places.add(DOUBLES)
        for place in places:
            masks[place + tile // 64] |= np.uint64(1 << tile % 64)
    return masks, figures
