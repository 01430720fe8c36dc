"""What the lanes hold and where: rows of one flat array, so that the compiler can prove that rows do not overlap.

Letters in shapes: L lanes, W width of a row. Row r of lane i stands at `r * W + i`; W is a compile-time constant, as are all
masks. A set of tiles is a 32-bit mask in rank order; an end of the line is the mask of its whole suit.
"""

from typing import Final, TypeAlias

import numpy as np
import numpy.typing as npt

from workers.engine.tiles import is_double, pips, tile_set

Bits: TypeAlias = np.uint32
"""32 bits: a set of tiles or a half of a random word, and counts in a vector."""
Rows: TypeAlias = npt.NDArray[np.uint32]
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
COLUMNS: Final = 8
"""Columns of the work table that are computed at a time; what lies beyond a list is computed for nothing."""
MAX_SEATS: Final = 4

# Rows of 32-bit words. Seats sit on `HANDS` and `TOUCHED` in playing order: the lane's own seat numbers are in its record.
MOVER: Final = 0
"""The hand of the seat to move, copied from its row of `HANDS` and back."""
LEFT: Final = 1
"""The suit of the left end and `DRAWABLE`; before the opening the tiles that may open, and `OPENING`."""
RIGHT: Final = 2
"""The same of the right end; before the opening the same as `LEFT`."""
UNION: Final = 3
"""All hands together, and `OPENING`; `DRAWABLE` where there is something to draw."""
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
HANDS: Final = 11
TOUCHED: Final = HANDS + MAX_SEATS
"""By seat: the tiles that show a value which the seat is known to lack."""
ROWS: Final = TOUCHED + MAX_SEATS

_TILES: Final = tile_set(6)
TILES: Final = len(_TILES)


def _mask(chosen: list[bool]) -> np.uint32:
    return np.uint32(sum(1 << tile for tile, is_chosen in enumerate(chosen) if is_chosen))


ZERO32: Final = np.uint32(0)
ONE32: Final = np.uint32(1)
ALL: Final = np.uint32((1 << 28) - 1)
OPENING: Final = np.uint32(1 << 31)
"""Set in both ends before the opening and always in `UNION`: so a line that has not begun is never taken for blocked."""
DRAWABLE: Final = np.uint32(1 << 30)
"""Set in both ends of every line, and in `UNION` for as long as tiles can be drawn: such a line is not blocked either."""
DOUBLES: Final = _mask([is_double(tile) for tile in _TILES])
SUITS: Final = tuple(_mask([value in tile for tile in _TILES]) for value in range(7))
"""By value: the tiles that show it."""
CROSSINGS: Final = tuple(np.uint32(suit & ~DOUBLES) for suit in SUITS)
"""By value: the tiles that lead from it to another value."""
PIP_PLANES: Final = tuple(_mask([bool(pips(tile) >> digit & 1) for tile in _TILES]) for digit in range(4))
"""By binary digit: the tiles whose pips have it."""
LOW_SUIT: Final = np.array([SUITS[low] | DRAWABLE for low, _ in _TILES], np.uint32)
HIGH_SUIT: Final = np.array([SUITS[high] | DRAWABLE for _, high in _TILES], np.uint32)
"""By tile: its two halves as ends of a line."""
CROSSING_OF: Final = np.concatenate([(LOW_SUIT ^ HIGH_SUIT), (LOW_SUIT | HIGH_SUIT) & ALL]).astype(np.uint64)
"""By tile: what it changes the suit of its end by; from `TILES` on the suits of both halves, which an opening brings."""
PIPS_OF: Final = np.array([pips(tile) for tile in _TILES], np.uint64)


def _values(tiles: int) -> int:
    return sum(1 << value for value, suit in enumerate(SUITS) if tiles & int(suit))


VALUES_OF: Final = np.array([_values(tiles << 7 * quarter) for quarter in range(4) for tiles in range(128)], np.uint64)
"""By quarter of a hand, seven tiles each: the set of values that they show."""

# Columns of a lane's record of 64-bit numbers; unsigned, as indexes are in the kernel.
ROUND: Final = np.uint64(0)
LEADER: Final = np.uint64(1)
"""The seat that opens this round."""
BLOCK: Final = np.uint64(2)
POINTS: Final = np.uint64(3)
"""By seat: the score in the match in the low half, the rounds won in the high half."""
FIRST_ROW: Final = np.uint64(POINTS + MAX_SEATS)
"""The row of the seat that opened this round."""
BASE: Final = np.uint64(FIRST_ROW + 1)
"""What all decisions of the block share: `random.block_base`."""
ROTATION: Final = np.uint64(BASE + 1)
MATCH: Final = np.uint64(ROTATION + 1)
OPENERS: Final = np.uint64(MATCH + 1)
"""The tiles that may open."""
RECORD: Final = np.uint64(OPENERS + 2)
"""Length of a record: odd, so that a column of all records spreads over the cache."""
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

STOCK_WIDTH: Final = 32
"""From a lane's stock, a byte a tile, to the next one's."""
NEXT_OF_STOCK: Final = 31
"""In a lane's stock: how many tiles have been drawn."""

NOBODY: Final = 7
OUT: Final = 1 << 16
