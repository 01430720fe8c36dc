"""Weighted sums: a number for every placement, lane by lane, for the lanes that still have a choice.

In vectors all lanes would wait for the one with most placements, five or so, where half of all lanes have no choice.
"""

from typing import Final

import numpy as np
from numba import int64, uint8, uint32, uint64

from workers.engine.compile import compiled
from workers.engine.lanes.layout import (
    ALL,
    CROSSING_OF,
    DOUBLES,
    KEPT_LEFT,
    KEPT_RIGHT,
    LANES,
    LEFT,
    MOVER,
    NEXT_TOUCHED,
    ONE32,
    OPENING,
    OTHERS_TOUCHED,
    PIPS_OF,
    RIGHT,
    STOCK,
    TILES,
    UNION,
    VALUES_OF,
    WIDTH,
    ZERO32,
    Bytes,
    Rows,
    Weights,
)
from workers.engine.policies.program import Feature
from workers.engine.scalar.bits import lowest, ones, word
from workers.engine.scalar.layout import Word, Words

_MOVER, _LEFT, _RIGHT, _UNION, _STOCK, _KEPT_LEFT, _KEPT_RIGHT, _NEXT, _OTHERS = (
    np.uint64(row * WIDTH) for row in (MOVER, LEFT, RIGHT, UNION, STOCK, KEPT_LEFT, KEPT_RIGHT, NEXT_TOUCHED, OTHERS_TOUCHED)
)
_ZERO, _ONE = np.uint64(0), np.uint64(1)
_ALL, _DOUBLES, _OPENING = np.uint64(ALL), np.uint64(DOUBLES), np.uint64(OPENING)
_HALF = np.uint64(32)
_TILE = np.uint64(31)
_OPENED = np.uint64(TILES)
_SEVEN = np.uint64(7)
_SEVEN_BITS = np.uint64(127)
_QUARTER = np.uint64(128)
_LOWEST: Final = -(1 << 62)
"""Below every score."""
_PIPS, _DOUBLE, _MOBILITY, _DISTINCT = int(Feature.PIPS), int(Feature.DOUBLE), int(Feature.MOBILITY), int(Feature.DISTINCT)
_NEXT_ONE, _NEXT_BOTH, _OTHER = int(Feature.NEXT_LACKS_ONE), int(Feature.NEXT_LACKS_BOTH), int(Feature.OTHER_LACKS)
_UNSEEN, _NO_FOLLOW_UP, _EQUAL_ENDS = int(Feature.UNSEEN), int(Feature.NO_FOLLOW_UP), int(Feature.EQUAL_ENDS)


@compiled()
def mark_rivals(rows: Rows, marks: Bytes) -> None:
    """Mark the lanes in which more than one placement is kept."""
    for number in range(LANES):
        lane = uint64(number)
        left, right = rows[_KEPT_LEFT + lane], rows[_KEPT_RIGHT + lane]
        more = uint32(uint32(left & uint32(left - ONE32)) | uint32(right & uint32(right - ONE32)))
        marks[lane] = uint8((more != ZERO32) | ((left != ZERO32) & (right != ZERO32)))


@compiled(inline=True)
def _distinct(hand: Word) -> int:
    """How many values a hand shows."""
    low = VALUES_OF[hand & _SEVEN_BITS] | VALUES_OF[_QUARTER + ((hand >> _SEVEN) & _SEVEN_BITS)]
    hand >>= _SEVEN + _SEVEN
    high = VALUES_OF[_QUARTER * word(2) + (hand & _SEVEN_BITS)] | VALUES_OF[_QUARTER * word(3) + (hand >> _SEVEN)]
    return ones(low | high)


@compiled()
def narrow_weighted(rows: Rows, lanes: Words, count: int, weights: Weights) -> None:
    """Keep the placements of the greatest weighted sum in the first `count` of `lanes`; `weights` are by feature."""
    for number in range(count):
        lane = lanes[uint64(number)]
        hand, left = uint64(rows[_MOVER + lane]), uint64(rows[_LEFT + lane])
        unseen = uint64(rows[_STOCK + lane] | rows[_UNION + lane]) & _ALL & ~hand
        next_lacks, others_lack = uint64(rows[_NEXT + lane]), uint64(rows[_OTHERS + lane])
        opens = left >= _OPENING
        # Both ends in one word. A line that has not begun has none, and its tiles bring the suits of both halves.
        ends = _ZERO if opens else left | (uint64(rows[_RIGHT + lane]) << _HALF)
        first = _OPENED if opens else _ZERO
        open_places = uint64(rows[_KEPT_LEFT + lane]) | (uint64(rows[_KEPT_RIGHT + lane]) << _HALF)
        best = int64(_LOWEST)
        kept = _ZERO
        while open_places:
            place = word(lowest(open_places))
            bit = open_places & (_ZERO - open_places)
            open_places ^= bit
            tile = place & _TILE
            at_right = place & _HALF
            # What fits a new end; the higher half holds the other end now and then, and every use cuts it off.
            fits = (CROSSING_OF[first + tile] ^ (ends >> at_right)) | (ends >> (_HALF - at_right))
            # A value is told by its double.
            values = fits & _DOUBLES
            placed = _ONE << tile
            mobility = ones(hand & fits) - 1
            worth = int64(PIPS_OF[tile]) * weights[_PIPS]
            worth += weights[_DOUBLE] if placed & _DOUBLES else 0
            worth += mobility * weights[_MOBILITY]
            worth += _distinct(hand ^ placed) * weights[_DISTINCT]
            worth += weights[_NEXT_ONE] if values & next_lacks else 0
            worth += weights[_NEXT_BOTH] if not values & ~next_lacks else 0
            worth += ones(unseen & fits) * weights[_UNSEEN]
            worth += weights[_OTHER] if values & others_lack else 0
            worth += weights[_NO_FOLLOW_UP] if mobility == 0 else 0
            worth += weights[_EQUAL_ENDS] if not values & (values - _ONE) else 0
            kept = bit if worth > best else (kept | bit if worth == best else kept)
            best = max(best, worth)
        rows[_KEPT_LEFT + lane] = uint32(kept)
        rows[_KEPT_RIGHT + lane] = uint32(kept >> _HALF)
