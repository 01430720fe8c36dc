"""What the lanes hold and where: rows of one flat array, so that the compiler can prove that rows do not overlap.

Letters in shapes: L lanes, W width of a row. Row r of lane i stands at `r * W + i`; W is a compile-time constant, as are all
masks. A set of tiles is a mask in rank order, of 32 bits or 64; an end of the line is the mask of its whole suit.
"""

from dataclasses import dataclass
from typing import Any, Final, TypeAlias

import numpy as np
import numpy.typing as npt
from numba import int32, int64, uint32, uint64

from workers.engine.scalar.layout import Words
from workers.engine.tiles import is_double, pips, tile_set

Bits: TypeAlias = Any
"""A word of a lane, 32 bits or 64: a set of tiles or a half of a random word, and counts in a vector."""
Half: TypeAlias = np.uint32
"""Half of a random word."""
Rows: TypeAlias = npt.NDArray[Any]
"""`[rows * W]` of lanes, or of columns of the work table."""
Bytes: TypeAlias = npt.NDArray[np.uint8]
Shorts: TypeAlias = npt.NDArray[np.uint16]
Scores: TypeAlias = npt.NDArray[np.int32]
Weights: TypeAlias = tuple[int, ...]
"""By feature: signed numbers of 32 bits."""

LANES: Final = 512
"""Matches under way at once. Their rows fill a processor's first-level cache and no more."""
WIDTH: Final = LANES + 16
"""From a row to the next: a cache line more than the lanes, so that the rows of a lane spread over the cache."""
MARKS: Final = 8
"""Marks of lanes, a byte each, that are looked at together: a word."""
COLUMNS: Final = 8
"""Columns of the work table that are computed at a time; what lies beyond a list is computed for nothing."""
MAX_SEATS: Final = 4

# Rows. Seats sit on `HANDS` and `TOUCHED` in playing order: which seat leads the round is in the lane's record.
MOVER: Final = 0
"""The hand of the seat to move, copied from its row of `HANDS` and back."""
LEFT: Final = 1
"""The suit of the left end and `drawable`; before the opening the tiles that may open, and `opening`."""
RIGHT: Final = 2
"""The same of the right end; before the opening the same as `LEFT`."""
UNION: Final = 3
"""All hands together, and `opening`; `drawable` where there is something to draw."""
WORD: Final = 4
"""The high half of the decision's random word."""
LOW_WORD: Final = 5
"""Its low half, where a policy uses it."""
KEPT_LEFT: Final = 6
"""The placements at the left end that a program has left so far."""
KEPT_RIGHT: Final = 7
"""The same at the right end; never filled where both ends are equal."""
STOCK: Final = 8
"""The tiles that were not dealt, without those that were drawn."""
NEXT_TOUCHED: Final = 9
"""`TOUCHED` of the seat that moves next."""
OTHERS_TOUCHED: Final = 10
"""`TOUCHED` of all other seats together."""
CHOICE: Final = 11
"""The tile that a program has chosen, or nothing, and the mark of an opening where it goes to the right end."""
HANDS: Final = 12
TOUCHED: Final = HANDS + MAX_SEATS
"""By seat: the tiles that show a value which the seat is known to lack."""
ROWS: Final = TOUCHED + MAX_SEATS



@dataclass(frozen=True, eq=False)
class Masks:
    """What the lanes know of a set of tiles, in words of 32 bits, or of 64 where it has more tiles than that.

    Tuples by value have `VALUES` entries, those by binary digit `DIGITS`; beyond what the set has they are empty, and what a
    kernel does with them is nothing.
    """

    highest: int
    """The highest value."""
    number: type[np.uint32] | type[np.uint64]
    tiles: int
    all: Bits
    opening: Bits
    """Set in both ends before the opening and always in `UNION`: so a line that has not begun is never taken for blocked."""
    drawable: Bits
    """Set in both ends of every line, and in `UNION` for as long as tiles can be drawn: such a line is not blocked either."""
    doubles: Bits
    suits: tuple[Bits, ...]
    """By value: the tiles that show it."""
    pip_planes: tuple[Bits, ...]
    """By binary digit: the tiles whose pips have it."""
    low_suit: Rows
    high_suit: Rows
    """By tile: its two halves as ends of a line."""
    pips_of: Words
    crossing_of: Words
    """By tile: what it changes the suit of its end by; from `tiles` on the suits of both halves, which an opening brings."""
    values_of: Words
    """By seven bits of a hand, seven tiles each: the set of values that they show."""

    @property
    def is_wide(self) -> bool:
        """Whether words have 64 bits."""
        return self.number is np.uint64

    @property
    def sized(self) -> Any:
        """The compiler's type of a word; cutting every result down to it keeps as many lanes in a vector as there can be."""
        return uint64 if self.is_wide else uint32

    @property
    def whole(self) -> Any:
        """The same with a sign."""
        return int64 if self.is_wide else int32


VALUES: Final = 10
DIGITS: Final = 5
SEVEN: Final = 7


def masks_of(highest: int) -> Masks:
    """For double-six and double-nine; larger sets have more tiles than bits."""
    tiles = tile_set(highest)
    number = np.uint32 if len(tiles) < np.iinfo(np.uint32).bits - 2 else np.uint64
    top = np.iinfo(number).bits - 1

    def mask(chosen: list[bool]) -> Bits:
        return number(sum(1 << tile for tile, is_chosen in enumerate(chosen) if is_chosen))

    doubles = mask([is_double(tile) for tile in tiles])
    suits = tuple(mask([value in tile for tile in tiles]) for value in range(VALUES))
    drawable = number(1 << top - 1)
    low_suit: Any = np.array([suits[low] for low, _ in tiles], number)
    high_suit: Any = np.array([suits[high] for _, high in tiles], number)
    shown = [
        sum(1 << value for value, suit in enumerate(suits) if chosen << SEVEN * group & int(suit))
        for group in range(-(-len(tiles) // SEVEN))
        for chosen in range(1 << SEVEN)
    ]
    return Masks(
        highest=highest, number=number, tiles=len(tiles), all=number((1 << len(tiles)) - 1), opening=number(1 << top),
        drawable=drawable, doubles=doubles, suits=suits,
        pip_planes=tuple(mask([bool(pips(tile) >> digit & 1) for tile in tiles]) for digit in range(DIGITS)),
        low_suit=low_suit | drawable, high_suit=high_suit | drawable,
        pips_of=np.array([pips(tile) for tile in tiles], np.uint64),
        crossing_of=np.concatenate([low_suit ^ high_suit, low_suit | high_suit]).astype(np.uint64),
        values_of=np.array(shown, np.uint64),
    )  # fmt: skip


# Columns of a lane's record: eight 64-bit numbers that every round needs, so that they are one cache line. (Unsigned, as
# indexes are in the kernel.)
ROUND: Final = np.uint64(0)
LEADER: Final = np.uint64(1)
"""The seat that opens this round."""
BLOCK: Final = np.uint64(2)
POINTS: Final = np.uint64(3)
"""By seat: the score in the match in the low half, the rounds won in the high half."""
BASE: Final = np.uint64(POINTS + MAX_SEATS)
"""What all decisions of the block share: `random.block_base`."""
RECORD: Final = np.uint64(BASE + 1)
"""Length of a record."""

# Columns of a lane's entry: what is seldom needed.
MATCH: Final = np.uint64(0)
ROTATION: Final = np.uint64(1)
OPENERS: Final = np.uint64(2)
"""The tiles that may open."""
ENTRY: Final = np.uint64(4)
"""Length of an entry."""

WON: Final = 1 << 32
"""A round won, as `POINTS` counts it."""

# Rows of the work table: a column for each lane of a list, in the list's order.
ORDERED: Final = 0
"""Four rows of hands in playing order, the leader's first."""
ORDERED_PIPS: Final = 4
"""Four rows of their pips."""
AHEAD: Final = 8
"""How many seats after the leader the winner of the round sits; `NOBODY` where hands tie."""
AWARD: Final = 9
"""What the winner scores."""
HELD: Final = 10
"""How many tiles were left in the hands, and `OUT` where one of them is empty: a sum over a list keeps the two apart."""
OPENED: Final = 11
"""The leader's hand before the opening."""
COUNTER_ROUND: Final = 12
COUNTER_LOW: Final = 13
COUNTER_HIGH: Final = 14
"""Counters of the deal: the round, and the two halves of the block's number."""
FIRST_PAIR: Final = 15
"""Four output words: two 64-bit words, for the seats 0 and 1."""
SECOND_PAIR: Final = 19
"""For the seats 2 and 3."""
REST: Final = 23
"""The tiles that the seats before left."""
WORK_ROWS: Final = 24

STOCK_WIDTH: Final = 64
"""From a lane's stock, a byte a tile, to the next one's."""
NEXT_OF_STOCK: Final = 63
"""In a lane's stock: how many tiles have been drawn."""

NOBODY: Final = 7
OUT: Final = 1 << 16
