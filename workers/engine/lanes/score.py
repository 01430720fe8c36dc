"""Weighted sums: a number for every placement, lane by lane, for the lanes that still have a choice.

In vectors all lanes would wait for the one with most placements, five or so, where half of all lanes have no choice.
"""

from collections.abc import Callable
from typing import Final, NamedTuple

import numpy as np
from numba import int64, uint8, uint32, uint64

from workers.engine.compile import compiled
from workers.engine.lanes.layout import (
    KEPT_LEFT,
    KEPT_RIGHT,
    LANES,
    LEFT,
    MOVER,
    NEXT_TOUCHED,
    OTHERS_TOUCHED,
    RIGHT,
    SEVEN,
    STOCK,
    UNION,
    WIDTH,
    Bytes,
    Masks,
    Rows,
    Shorts,
    Weights,
)
from workers.engine.policies.program import Feature
from workers.engine.scalar.bits import lowest, ones, word
from workers.engine.scalar.layout import Word

_MOVER, _LEFT, _RIGHT, _UNION, _STOCK, _KEPT_LEFT, _KEPT_RIGHT, _NEXT, _OTHERS = (
    np.uint64(row * WIDTH) for row in (MOVER, LEFT, RIGHT, UNION, STOCK, KEPT_LEFT, KEPT_RIGHT, NEXT_TOUCHED, OTHERS_TOUCHED)
)
_ZERO, _ONE, _HALF = np.uint64(0), np.uint64(1), np.uint64(32)
_TILE = np.uint64(31)
_SEVEN, _SEVEN_BITS = np.uint64(SEVEN), np.uint64((1 << SEVEN) - 1)
_LOWEST: Final = -(1 << 62)
"""Below every score."""
_PIPS, _DOUBLE, _MOBILITY, _DISTINCT = int(Feature.PIPS), int(Feature.DOUBLE), int(Feature.MOBILITY), int(Feature.DISTINCT)
_NEXT_ONE, _NEXT_BOTH, _OTHER = int(Feature.NEXT_LACKS_ONE), int(Feature.NEXT_LACKS_BOTH), int(Feature.OTHER_LACKS)
_UNSEEN, _NO_FOLLOW_UP, _EQUAL_ENDS = int(Feature.UNSEEN), int(Feature.NO_FOLLOW_UP), int(Feature.EQUAL_ENDS)


class Scores(NamedTuple):
    """Weighted sums over one set of tiles."""

    mark_rivals: Callable[..., None]
    narrow_weighted: Callable[..., None]


def scores_of(masks: Masks) -> Scores:
    """The functions that depend on the set."""
    is_wide, sized, zero, one_bit = masks.is_wide, masks.sized, masks.number(0), masks.number(1)
    everything, doubles, opening = (np.uint64(mask) for mask in (masks.all, masks.doubles, masks.opening))
    crossing_of, pips_of, values_of, opened = masks.crossing_of, masks.pips_of, masks.values_of, np.uint64(masks.tiles)
    groups = len(values_of) >> SEVEN

    @compiled()
    def mark_rivals(rows: Rows, marks: Bytes) -> None:
        """Mark the lanes in which more than one placement is kept."""
        for number in range(LANES):
            lane = uint64(number)
            left, right = rows[_KEPT_LEFT + lane], rows[_KEPT_RIGHT + lane]
            more = sized(sized(left & sized(left - one_bit)) | sized(right & sized(right - one_bit)))
            marks[lane] = uint8((more != zero) | ((left != zero) & (right != zero)))

    @compiled(inline=True)
    def distinct(hand: Word) -> int:
        """How many values a hand shows."""
        shown = _ZERO
        for number in range(groups):
            group = uint64(number)
            shown |= values_of[(group << _SEVEN) + ((hand >> (group * _SEVEN)) & _SEVEN_BITS)]
        return ones(shown)

    @compiled(inline=True)
    def worth_of(
        tile: Word, fits: Word, hand: Word, unseen: Word, next_lacks: Word, others_lack: Word, weights: Weights,
    ) -> int:  # fmt: skip
        """The weighted sum of a placement after which tiles that fit a new end are those of `fits`."""
        # A value is told by its double.
        values = fits & doubles
        placed = _ONE << tile
        mobility = ones(hand & fits) - 1
        worth: int = int64(pips_of[tile]) * weights[_PIPS]
        worth += weights[_DOUBLE] if placed & doubles else 0
        worth += mobility * weights[_MOBILITY]
        worth += distinct(hand ^ placed) * weights[_DISTINCT]
        worth += weights[_NEXT_ONE] if values & next_lacks else 0
        worth += weights[_NEXT_BOTH] if not values & ~next_lacks else 0
        worth += ones(unseen & fits) * weights[_UNSEEN]
        worth += weights[_OTHER] if values & others_lack else 0
        worth += weights[_NO_FOLLOW_UP] if mobility == 0 else 0
        worth += weights[_EQUAL_ENDS] if not values & (values - _ONE) else 0
        return worth

    @compiled()
    def narrow_weighted(rows: Rows, lanes: Shorts, count: int, weights: Weights) -> None:
        """Keep the placements of the greatest weighted sum in the first `count` of `lanes`; `weights` are by feature."""
        for number in range(count):
            lane = uint64(lanes[uint64(number)])
            hand, left = uint64(rows[_MOVER + lane]), uint64(rows[_LEFT + lane])
            unseen = uint64(rows[_STOCK + lane] | rows[_UNION + lane]) & everything & ~hand
            next_lacks, others_lack = uint64(rows[_NEXT + lane]), uint64(rows[_OTHERS + lane])
            opens = left >= opening
            # Both ends in one word. A line that has not begun has none, and its tiles bring the suits of both halves.
            ends = _ZERO if opens else left | (uint64(rows[_RIGHT + lane]) << _HALF)
            first = opened if opens else _ZERO
            open_places = uint64(rows[_KEPT_LEFT + lane]) | (uint64(rows[_KEPT_RIGHT + lane]) << _HALF)
            best = _LOWEST
            kept = _ZERO
            while open_places:
                place = word(lowest(open_places))
                bit = open_places & (_ZERO - open_places)
                open_places ^= bit
                tile = place & _TILE
                at_right = place & _HALF
                # What fits a new end; the higher half holds the other end now and then, and every use cuts it off.
                fits = (crossing_of[first + tile] ^ (ends >> at_right)) | (ends >> (_HALF - at_right))
                worth = worth_of(tile, fits, hand, unseen, next_lacks, others_lack, weights)
                kept = bit if worth > best else (kept | bit if worth == best else kept)
                best = max(best, worth)
            rows[_KEPT_LEFT + lane] = uint32(kept)
            rows[_KEPT_RIGHT + lane] = uint32(kept >> _HALF)

    @compiled()
    def narrow_weighted_wide(rows: Rows, lanes: Shorts, count: int, weights: Weights) -> None:
        """The same where an end fills a word: one end after the other."""
        for number in range(count):
            lane = uint64(lanes[uint64(number)])
            hand, left, right = rows[_MOVER + lane], rows[_LEFT + lane], rows[_RIGHT + lane]
            unseen = (rows[_STOCK + lane] | rows[_UNION + lane]) & everything & ~hand
            next_lacks, others_lack = rows[_NEXT + lane], rows[_OTHERS + lane]
            opens = left >= opening
            first = opened if opens else _ZERO
            best = _LOWEST
            kept_left = kept_right = _ZERO
            for side in range(2):
                at_right = side == 1
                end = _ZERO if opens else (right if at_right else left)
                other = _ZERO if opens else (left if at_right else right)
                open_places = rows[_KEPT_RIGHT + lane] if at_right else rows[_KEPT_LEFT + lane]
                while open_places:
                    tile = word(lowest(open_places))
                    bit = open_places & (_ZERO - open_places)
                    open_places ^= bit
                    worth = worth_of(
                        tile, (crossing_of[first + tile] ^ end) | other, hand, unseen, next_lacks, others_lack, weights
                    )
                    kept_left = _ZERO if worth > best else kept_left
                    kept_right = _ZERO if worth > best else kept_right
                    best = max(best, worth)
                    kept = bit if worth == best else _ZERO
                    kept_left |= _ZERO if at_right else kept
                    kept_right |= kept if at_right else _ZERO
            rows[_KEPT_LEFT + lane] = kept_left
            rows[_KEPT_RIGHT + lane] = kept_right

    return Scores(mark_rivals, narrow_weighted_wide if is_wide else narrow_weighted)
