"""Programs over all lanes: each preference or weighted sum is a loop that leaves fewer placements kept.

`keep = keep & best if keep & best else keep` is the whole of a preference whose best placements are a mask. Where
placements must be scored one by one, the lanes of a strip take out and score theirs in step until none has any left.
"""

from collections.abc import Callable
from typing import Any, Final

import numpy as np
from numba import int32, uint32, uint64

from workers.engine.compile import compiled
from workers.engine.lanes.bits import lowest32, ones32, same, signed, unless, where
from workers.engine.lanes.layout import (
    ALL,
    BEST,
    BEST_LEFT,
    BEST_RIGHT,
    DOUBLES,
    KEPT_LEFT,
    KEPT_RIGHT,
    LANES,
    LEFT,
    MOVER,
    NEXT_TOUCHED,
    ONE32,
    OPEN_LEFT,
    OPEN_RIGHT,
    OTHERS_TOUCHED,
    PIP_PLANES,
    RIGHT,
    STOCK,
    STRIP,
    SUITS,
    UNION,
    WIDTH,
    ZERO32,
    Bits,
    Rows,
    Weights,
)
from workers.engine.policies.program import Feature
from workers.engine.scalar.layout import Word

_MOVER, _LEFT, _RIGHT, _UNION, _STOCK, _KEPT_LEFT, _KEPT_RIGHT = (
    np.uint64(row * WIDTH) for row in (MOVER, LEFT, RIGHT, UNION, STOCK, KEPT_LEFT, KEPT_RIGHT)
)
_OPEN_LEFT, _OPEN_RIGHT, _BEST_LEFT, _BEST_RIGHT, _BEST, _NEXT, _OTHERS = (
    np.uint64(row * WIDTH) for row in (OPEN_LEFT, OPEN_RIGHT, BEST_LEFT, BEST_RIGHT, BEST, NEXT_TOUCHED, OTHERS_TOUCHED)
)
_STRIPS: Final = LANES // STRIP
_S0, _S1, _S2, _S3, _S4, _S5, _S6 = SUITS
_D0, _D1, _D2, _D3, _D4, _D5, _D6 = (np.uint32(suit & DOUBLES) for suit in SUITS)
_P0, _P1, _P2, _P3 = PIP_PLANES
_NOT_DOUBLES = np.uint32(ALL & ~DOUBLES)
_LOWEST = np.int32(-(1 << 31) + 1)
"""Below every score."""
_PIPS, _DOUBLE, _MOBILITY, _DISTINCT = int(Feature.PIPS), int(Feature.DOUBLE), int(Feature.MOBILITY), int(Feature.DISTINCT)
_NEXT_ONE, _NEXT_BOTH, _OTHER = int(Feature.NEXT_LACKS_ONE), int(Feature.NEXT_LACKS_BOTH), int(Feature.OTHER_LACKS)
_UNSEEN, _NO_FOLLOW_UP, _EQUAL_ENDS = int(Feature.UNSEEN), int(Feature.NO_FOLLOW_UP), int(Feature.EQUAL_ENDS)


@compiled(inline=True)
def _narrowed(left: Bits, right: Bits, kept_left: Bits, kept_right: Bits) -> tuple[Bits, Bits]:
    """Both masks cut down, where that leaves anything."""
    less_left = uint32(left & kept_left)
    less_right = uint32(right & kept_right)
    some = uint32(less_left | less_right) != ZERO32
    return less_left if some else same(left), less_right if some else same(right)


@compiled()
def narrow_pips(rows: Rows, fewest: int) -> None:
    """Keep the heaviest tiles, or the lightest: by the binary digits of their pips, from the highest."""
    flip = ALL if fewest else ZERO32
    p0, p1, p2, p3 = uint32(_P0 ^ flip), uint32(_P1 ^ flip), uint32(_P2 ^ flip), uint32(_P3 ^ flip)
    for number in range(LANES):
        lane = uint64(number)
        left, right = rows[_KEPT_LEFT + lane], rows[_KEPT_RIGHT + lane]
        left, right = _narrowed(left, right, p3, p3)
        left, right = _narrowed(left, right, p2, p2)
        left, right = _narrowed(left, right, p1, p1)
        left, right = _narrowed(left, right, p0, p0)
        rows[_KEPT_LEFT + lane] = left
        rows[_KEPT_RIGHT + lane] = right


@compiled()
def narrow_double(rows: Rows, fewest: int) -> None:
    """Keep doubles, or all others."""
    wanted = _NOT_DOUBLES if fewest else DOUBLES
    for number in range(LANES):
        lane = uint64(number)
        left, right = _narrowed(rows[_KEPT_LEFT + lane], rows[_KEPT_RIGHT + lane], wanted, wanted)
        rows[_KEPT_LEFT + lane] = left
        rows[_KEPT_RIGHT + lane] = right


@compiled(inline=True)
def _equalising(left: Bits, right: Bits) -> Bits:
    """The tiles that make both ends equal: the one that joins them, at equal ends and at the opening a double."""
    return uint32(uint32(left & right) & (DOUBLES if left == right else ALL))


@compiled()
def narrow_equal_ends(rows: Rows, fewest: int) -> None:
    """Keep placements that make both ends equal, or all others."""
    flip = ALL if fewest else ZERO32
    for number in range(LANES):
        lane = uint64(number)
        wanted = uint32(_equalising(rows[_LEFT + lane], rows[_RIGHT + lane]) ^ flip)
        left, right = _narrowed(rows[_KEPT_LEFT + lane], rows[_KEPT_RIGHT + lane], wanted, wanted)
        rows[_KEPT_LEFT + lane] = left
        rows[_KEPT_RIGHT + lane] = right


@compiled(inline=True)
def _inside(touched: Bits) -> Bits:
    """The tiles both of whose values are lacked: none of the values that are not lacked shows on them."""
    held = unless(touched, _D0, _S0)
    held = uint32(held | unless(touched, _D1, _S1))
    held = uint32(held | unless(touched, _D2, _S2))
    held = uint32(held | unless(touched, _D3, _S3))
    held = uint32(held | unless(touched, _D4, _S4))
    held = uint32(held | unless(touched, _D5, _S5))
    held = uint32(held | unless(touched, _D6, _S6))
    return uint32(ALL & ~held)


@compiled(inline=True)
def _lacking(left: Bits, right: Bits, touched: Bits, both: bool) -> tuple[Bits, Bits]:
    """The placements at each end after which a seat lacks one of the new ends, or both of them. None at the opening, when
    nothing is known of anybody."""
    inside = _inside(touched)
    lacks_left = uint32(uint32(left & DOUBLES) & touched) != ZERO32
    lacks_right = uint32(uint32(right & DOUBLES) & touched) != ZERO32
    # A tile of a lacked suit leads to a lacked value only if both of its values are lacked.
    outward_left = inside if lacks_left else touched
    outward_right = inside if lacks_right else touched
    one_left = ALL if lacks_right else outward_left
    one_right = ALL if lacks_left else outward_right
    both_left = outward_left if lacks_right else ZERO32
    both_right = outward_right if lacks_left else ZERO32
    return both_left if both else one_left, both_right if both else one_right


def _lacks_pass(others: bool, both: bool) -> Callable[..., Any]:
    row = _OTHERS if others else _NEXT

    @compiled()
    def narrow(rows: Rows, fewest: int) -> None:
        flip = ALL if fewest else ZERO32
        for number in range(LANES):
            lane = uint64(number)
            at_left, at_right = _lacking(rows[_LEFT + lane], rows[_RIGHT + lane], rows[row + lane], both)
            left, right = _narrowed(
                rows[_KEPT_LEFT + lane], rows[_KEPT_RIGHT + lane], uint32(at_left ^ flip), uint32(at_right ^ flip)
            )
            rows[_KEPT_LEFT + lane] = left
            rows[_KEPT_RIGHT + lane] = right

    return narrow


narrow_next_lacks_one = _lacks_pass(others=False, both=False)
narrow_next_lacks_both = _lacks_pass(others=False, both=True)
narrow_other_lacks = _lacks_pass(others=True, both=False)


@compiled()
def note_lacks(rows: Rows, touched: Word) -> None:
    """Where the seat to move cannot play it lacks the values of both ends from now on; `touched` is where its row begins."""
    for number in range(LANES):
        lane = uint64(number)
        ends = uint32(rows[_LEFT + lane] | rows[_RIGHT + lane])
        known = same(rows[touched + lane])
        rows[touched + lane] = uint32(known | ends) if uint32(rows[_MOVER + lane] & ends) == ZERO32 else known


@compiled(inline=True)
def _suits_of(tile: Bits) -> Bits:
    """The suits of both halves of a tile together."""
    suits = where(tile, _S0, _S0)
    suits = uint32(suits | where(tile, _S1, _S1))
    suits = uint32(suits | where(tile, _S2, _S2))
    suits = uint32(suits | where(tile, _S3, _S3))
    suits = uint32(suits | where(tile, _S4, _S4))
    suits = uint32(suits | where(tile, _S5, _S5))
    return uint32(suits | where(tile, _S6, _S6))


@compiled(inline=True)
def _distinct(hand: Bits) -> Bits:
    """How many values a hand shows."""
    count = where(hand, _S0, ONE32)
    count = uint32(count + where(hand, _S1, ONE32))
    count = uint32(count + where(hand, _S2, ONE32))
    count = uint32(count + where(hand, _S3, ONE32))
    count = uint32(count + where(hand, _S4, ONE32))
    count = uint32(count + where(hand, _S5, ONE32))
    return uint32(count + where(hand, _S6, ONE32))


@compiled(inline=True)
def _fitting(left: Bits, right: Bits, tile: Bits, at_right: bool) -> Bits:
    """The tiles that fit a new end once `tile` is placed, apart from `tile` itself."""
    both = _suits_of(tile)
    crossed = unless(tile, DOUBLES, uint32(both ^ tile))
    new_left = left if at_right else uint32(left ^ crossed)
    new_right = uint32(right ^ crossed) if at_right else right
    return both if signed(left) < int32(0) else uint32(new_left | new_right)


def _scoring_pass(score: Callable[..., Any]) -> Callable[..., Any]:
    """A pass that keeps the placements of the greatest score.

    `score(rows, lane, tile, at_right, weights)` is a 32-bit signed number, computed once for every placement that has a rival;
    `weights` is a tuple of signed numbers by feature.
    """

    @compiled()
    def narrow(rows: Rows, weights: Weights) -> None:
        for strip in range(_STRIPS):
            first = uint64(strip * STRIP)
            rivals = ZERO32
            for number in range(STRIP):
                lane = first + uint64(number)
                left, right = rows[_KEPT_LEFT + lane], rows[_KEPT_RIGHT + lane]
                more = uint32(uint32(left & uint32(left - ONE32)) | uint32(right & uint32(right - ONE32)))
                alone = (more == ZERO32) & ((left == ZERO32) | (right == ZERO32))
                left = ZERO32 if alone else left
                right = ZERO32 if alone else right
                rows[_OPEN_LEFT + lane] = left
                rows[_OPEN_RIGHT + lane] = right
                rows[_BEST_LEFT + lane] = ZERO32
                rows[_BEST_RIGHT + lane] = ZERO32
                rows[_BEST + lane] = uint32(_LOWEST)
                rivals = uint32(rivals | left | right)
            if rivals == ZERO32:
                continue
            while rivals != ZERO32:
                rivals = ZERO32
                for number in range(STRIP):
                    lane = first + uint64(number)
                    left, right = rows[_OPEN_LEFT + lane], rows[_OPEN_RIGHT + lane]
                    at_right = left == ZERO32
                    tile = lowest32(right if at_right else left)
                    left = uint32(left & ~tile)
                    right = uint32(right ^ tile) if at_right else right
                    rows[_OPEN_LEFT + lane] = left
                    rows[_OPEN_RIGHT + lane] = right
                    rivals = uint32(rivals | left | right)
                    worth = score(rows, lane, tile, at_right, weights)
                    best = signed(rows[_BEST + lane])
                    better = (worth > best) & (tile != ZERO32)
                    equal = (worth == best) & (tile != ZERO32)
                    rows[_BEST + lane] = uint32(worth) if better else same(rows[_BEST + lane])
                    best_left = ZERO32 if better else same(rows[_BEST_LEFT + lane])
                    best_right = ZERO32 if better else same(rows[_BEST_RIGHT + lane])
                    joins = tile if better | equal else ZERO32
                    rows[_BEST_LEFT + lane] = uint32(best_left | (ZERO32 if at_right else joins))
                    rows[_BEST_RIGHT + lane] = uint32(best_right | (joins if at_right else ZERO32))
            for number in range(STRIP):
                lane = first + uint64(number)
                best_left, best_right = rows[_BEST_LEFT + lane], rows[_BEST_RIGHT + lane]
                scored = uint32(best_left | best_right) != ZERO32
                rows[_KEPT_LEFT + lane] = best_left if scored else same(rows[_KEPT_LEFT + lane])
                rows[_KEPT_RIGHT + lane] = best_right if scored else same(rows[_KEPT_RIGHT + lane])

    return narrow


# For a single feature `weights[0]` is 1, or -1 where the fewest are preferred.


@compiled(inline=True)
def _mobility(rows: Rows, lane: Word, tile: Bits, at_right: bool, weights: Weights) -> np.int32:
    kept = uint32(rows[_MOVER + lane] ^ tile)
    fits = _fitting(rows[_LEFT + lane], rows[_RIGHT + lane], tile, at_right)
    return int32(signed(ones32(uint32(kept & fits))) * weights[0])


@compiled(inline=True)
def _no_follow_up(rows: Rows, lane: Word, tile: Bits, at_right: bool, weights: Weights) -> np.int32:
    kept = uint32(rows[_MOVER + lane] ^ tile)
    fits = _fitting(rows[_LEFT + lane], rows[_RIGHT + lane], tile, at_right)
    return int32(weights[0] if uint32(kept & fits) == ZERO32 else int32(0))


@compiled(inline=True)
def _distinct_kept(rows: Rows, lane: Word, tile: Bits, at_right: bool, weights: Weights) -> np.int32:  # noqa: ARG001
    return int32(signed(_distinct(uint32(rows[_MOVER + lane] ^ tile))) * weights[0])


@compiled(inline=True)
def _unseen(rows: Rows, lane: Word, tile: Bits, at_right: bool, weights: Weights) -> np.int32:
    unseen = uint32(rows[_STOCK + lane] | uint32(rows[_UNION + lane] & ~rows[_MOVER + lane]))
    fits = _fitting(rows[_LEFT + lane], rows[_RIGHT + lane], tile, at_right)
    return int32(signed(ones32(uint32(uint32(unseen & ALL) & fits))) * weights[0])


@compiled(inline=True)
def _pips(tile: Bits) -> Bits:
    pips = where(tile, _P0, np.uint32(1))
    pips = uint32(pips + where(tile, _P1, np.uint32(2)))
    pips = uint32(pips + where(tile, _P2, np.uint32(4)))
    return uint32(pips + where(tile, _P3, np.uint32(8)))


@compiled(inline=True)
def _weighted(rows: Rows, lane: Word, tile: Bits, at_right: bool, weights: Weights) -> np.int32:
    hand, left, right = rows[_MOVER + lane], rows[_LEFT + lane], rows[_RIGHT + lane]
    kept = uint32(hand ^ tile)
    fits = _fitting(left, right, tile, at_right)
    unseen = uint32(uint32(rows[_STOCK + lane] | uint32(rows[_UNION + lane] & ~hand)) & ALL)
    one_left, one_right = _lacking(left, right, rows[_NEXT + lane], False)
    both_left, both_right = _lacking(left, right, rows[_NEXT + lane], True)
    other_left, other_right = _lacking(left, right, rows[_OTHERS + lane], False)
    one = one_right if at_right else one_left
    both = both_right if at_right else both_left
    other = other_right if at_right else other_left
    mobility = signed(ones32(uint32(kept & fits)))
    worth = int32(signed(_pips(tile)) * weights[_PIPS])
    worth = int32(worth + (weights[_DOUBLE] if uint32(tile & DOUBLES) != ZERO32 else int32(0)))
    worth = int32(worth + int32(mobility * weights[_MOBILITY]))
    worth = int32(worth + int32(signed(_distinct(kept)) * weights[_DISTINCT]))
    worth = int32(worth + (weights[_NEXT_ONE] if uint32(tile & one) != ZERO32 else int32(0)))
    worth = int32(worth + (weights[_NEXT_BOTH] if uint32(tile & both) != ZERO32 else int32(0)))
    worth = int32(worth + int32(signed(ones32(uint32(unseen & fits))) * weights[_UNSEEN]))
    worth = int32(worth + (weights[_OTHER] if uint32(tile & other) != ZERO32 else int32(0)))
    worth = int32(worth + (weights[_NO_FOLLOW_UP] if mobility == int32(0) else int32(0)))
    return int32(worth + (weights[_EQUAL_ENDS] if uint32(tile & _equalising(left, right)) != ZERO32 else int32(0)))


narrow_mobility = _scoring_pass(_mobility)
narrow_no_follow_up = _scoring_pass(_no_follow_up)
narrow_distinct = _scoring_pass(_distinct_kept)
narrow_unseen = _scoring_pass(_unseen)
narrow_weighted = _scoring_pass(_weighted)
