"""Preferences over all lanes at once: each is a loop that leaves fewer placements kept.

`keep = keep & best if keep & best else keep` is the whole of a preference whose best placements are a mask; what must be
counted for each placement is in `fits`, weighted sums in `score`.
"""

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
from numba import uint64

from workers.engine.compile import compiled
from workers.engine.lanes.bits import operations
from workers.engine.lanes.layout import (
    KEPT_LEFT,
    KEPT_RIGHT,
    LANES,
    LEFT,
    MOVER,
    NEXT_TOUCHED,
    OTHERS_TOUCHED,
    RIGHT,
    WIDTH,
    Bits,
    Masks,
    Rows,
)
from workers.engine.scalar.layout import Word

_MOVER, _LEFT, _RIGHT, _KEPT_LEFT, _KEPT_RIGHT, _NEXT, _OTHERS = (
    np.uint64(row * WIDTH) for row in (MOVER, LEFT, RIGHT, KEPT_LEFT, KEPT_RIGHT, NEXT_TOUCHED, OTHERS_TOUCHED)
)


class Narrows(NamedTuple):
    """The preferences over one set of tiles."""

    narrow_pips: Callable[..., None]
    narrow_double: Callable[..., None]
    narrow_equal_ends: Callable[..., None]
    narrow_next_lacks_one: Callable[..., None]
    narrow_next_lacks_both: Callable[..., None]
    narrow_other_lacks: Callable[..., None]
    note_lacks: Callable[..., None]
    narrow_distinct: Callable[..., None]
    narrow_no_follow_up: Callable[..., None]


def narrows_of(masks: Masks) -> Narrows:
    """The functions that depend on the set."""
    is_wide, sized, whole, zero = masks.is_wide, masks.sized, masks.whole, masks.number(0)
    one_bit = masks.number(1)
    _, signed, same, narrowed, _, _, _, _, unless = operations(masks)
    everything, doubles, not_doubles = masks.all, masks.doubles, masks.all & ~masks.doubles
    p0, p1, p2, p3, p4 = masks.pip_planes
    # A value that the set does not have has no tiles, and the compiler drops it.
    s0, s1, s2, s3, s4, s5, s6, s7, s8, s9 = masks.suits
    d0, d1, d2, d3, d4, d5, d6, d7, d8, d9 = (suit & doubles for suit in masks.suits)

    @compiled()
    def narrow_pips(rows: Rows, fewest: int) -> None:
        """Keep the heaviest tiles, or the lightest: by the binary digits of their pips, from the highest."""
        flip = everything if fewest else zero
        f0, f1, f2, f3, f4 = sized(p0 ^ flip), sized(p1 ^ flip), sized(p2 ^ flip), sized(p3 ^ flip), sized(p4 ^ flip)
        for number in range(LANES):
            lane = uint64(number)
            left, right = rows[_KEPT_LEFT + lane], rows[_KEPT_RIGHT + lane]
            if is_wide:
                left, right = narrowed(left, right, f4, f4)
            left, right = narrowed(left, right, f3, f3)
            left, right = narrowed(left, right, f2, f2)
            left, right = narrowed(left, right, f1, f1)
            left, right = narrowed(left, right, f0, f0)
            rows[_KEPT_LEFT + lane] = left
            rows[_KEPT_RIGHT + lane] = right

    @compiled()
    def narrow_double(rows: Rows, fewest: int) -> None:
        """Keep doubles, or all others."""
        wanted = not_doubles if fewest else doubles
        for number in range(LANES):
            lane = uint64(number)
            left, right = narrowed(rows[_KEPT_LEFT + lane], rows[_KEPT_RIGHT + lane], wanted, wanted)
            rows[_KEPT_LEFT + lane] = left
            rows[_KEPT_RIGHT + lane] = right

    @compiled(inline=True)
    def _equalising(left: Bits, right: Bits) -> Bits:
        """The tiles that make both ends equal: the one that joins them, at equal ends and at the opening a double."""
        return sized(sized(left & right) & (doubles if left == right else everything))

    @compiled()
    def narrow_equal_ends(rows: Rows, fewest: int) -> None:
        """Keep placements that make both ends equal, or all others."""
        flip = everything if fewest else zero
        for number in range(LANES):
            lane = uint64(number)
            wanted = sized(_equalising(rows[_LEFT + lane], rows[_RIGHT + lane]) ^ flip)
            left, right = narrowed(rows[_KEPT_LEFT + lane], rows[_KEPT_RIGHT + lane], wanted, wanted)
            rows[_KEPT_LEFT + lane] = left
            rows[_KEPT_RIGHT + lane] = right

    @compiled(inline=True)
    def _inside(touched: Bits) -> Bits:
        """The tiles both of whose values are lacked: none of the values that are not lacked shows on them."""
        held = unless(touched, d0, s0)
        held = sized(held | unless(touched, d1, s1))
        held = sized(held | unless(touched, d2, s2))
        held = sized(held | unless(touched, d3, s3))
        held = sized(held | unless(touched, d4, s4))
        held = sized(held | unless(touched, d5, s5))
        held = sized(held | unless(touched, d6, s6))
        held = sized(held | unless(touched, d7, s7))
        held = sized(held | unless(touched, d8, s8))
        held = sized(held | unless(touched, d9, s9))
        return sized(everything & ~held)

    @compiled(inline=True)
    def _lacking(left: Bits, right: Bits, touched: Bits, both: bool) -> tuple[Bits, Bits]:
        """The placements at each end after which a seat lacks one of the new ends, or both of them. None at the opening, when
        nothing is known of anybody."""
        inside = _inside(touched)
        lacks_left = sized(sized(left & doubles) & touched) != zero
        lacks_right = sized(sized(right & doubles) & touched) != zero
        # A tile of a lacked suit leads to a lacked value only if both of its values are lacked.
        outward_left = inside if lacks_left else touched
        outward_right = inside if lacks_right else touched
        one_left = everything if lacks_right else outward_left
        one_right = everything if lacks_left else outward_right
        both_left = outward_left if lacks_right else zero
        both_right = outward_right if lacks_left else zero
        return both_left if both else one_left, both_right if both else one_right

    def _lacks_pass(others: bool, both: bool) -> Callable[..., Any]:
        row = _OTHERS if others else _NEXT

        @compiled()
        def narrow(rows: Rows, fewest: int) -> None:
            flip = everything if fewest else zero
            for number in range(LANES):
                lane = uint64(number)
                at_left, at_right = _lacking(rows[_LEFT + lane], rows[_RIGHT + lane], rows[row + lane], both)
                left, right = narrowed(
                    rows[_KEPT_LEFT + lane], rows[_KEPT_RIGHT + lane], sized(at_left ^ flip), sized(at_right ^ flip)
                )
                rows[_KEPT_LEFT + lane] = left
                rows[_KEPT_RIGHT + lane] = right

        return narrow

    narrow_next_lacks_one = _lacks_pass(others=False, both=False)
    narrow_next_lacks_both = _lacks_pass(others=False, both=True)
    narrow_other_lacks = _lacks_pass(others=True, both=False)

    @compiled()
    def note_lacks(rows: Rows, touched: Word) -> None:
        """Where the seat to move cannot play it lacks the values of both ends from now on; its row begins at `touched`."""
        for number in range(LANES):
            lane = uint64(number)
            ends = sized(rows[_LEFT + lane] | rows[_RIGHT + lane])
            known = same(rows[touched + lane])
            rows[touched + lane] = sized(known | ends) if sized(rows[_MOVER + lane] & ends) == zero else known

    @compiled(inline=True)
    def _alone(hand: Bits, suit: Bits) -> Bits:
        """The suit, if the hand holds no more than one tile of it."""
        held = sized(hand & suit)
        return unless(held, sized(held - one_bit), suit)

    @compiled(inline=True)
    def _last_of_a_value(hand: Bits) -> tuple[Bits, Bits]:
        """The tiles of a hand that are the last to show one of their values, and those that are the last to show two."""
        one = _alone(hand, s0)
        two = zero
        last = _alone(hand, s1)
        one, two = sized(one | last), sized(one & last)
        last = _alone(hand, s2)
        one, two = sized(one | last), sized(two | sized(one & last))
        last = _alone(hand, s3)
        one, two = sized(one | last), sized(two | sized(one & last))
        last = _alone(hand, s4)
        one, two = sized(one | last), sized(two | sized(one & last))
        last = _alone(hand, s5)
        one, two = sized(one | last), sized(two | sized(one & last))
        last = _alone(hand, s6)
        one, two = sized(one | last), sized(two | sized(one & last))
        last = _alone(hand, s7)
        one, two = sized(one | last), sized(two | sized(one & last))
        last = _alone(hand, s8)
        one, two = sized(one | last), sized(two | sized(one & last))
        last = _alone(hand, s9)
        return sized(one | last), sized(two | sized(one & last))

    @compiled()
    def narrow_distinct(rows: Rows, fewest: int) -> None:
        """Keep the placements that lose the hand the fewest values, or the most: none, one, or both of the tile's."""
        flip = zero if fewest else everything
        for number in range(LANES):
            lane = uint64(number)
            one, two = _last_of_a_value(rows[_MOVER + lane])
            one, two = sized(one ^ flip), sized(two ^ flip)
            first, second = one if fewest else two, two if fewest else one
            left, right = narrowed(rows[_KEPT_LEFT + lane], rows[_KEPT_RIGHT + lane], first, first)
            left, right = narrowed(left, right, second, second)
            rows[_KEPT_LEFT + lane] = left
            rows[_KEPT_RIGHT + lane] = right

    @compiled(inline=True)
    def _no_follow_up(fits: Bits, others: Bits, one: Bits, two: Bits) -> Bits:
        """The placements at one end after which the hand fits neither; `fits` and `others` are what it holds for this end and
        for the other."""
        # Of the other end's suit it may hold the placed tile at most.
        stuck = unless(others, sized(others - one_bit), others)
        stuck = everything if others == zero else stuck
        # The new value must be on no other tile: on a tile that is the last of this end's value too, it is the second such one.
        end_alone = sized(fits & sized(fits - one_bit)) == zero
        alone = sized(two | sized(one & doubles)) if end_alone else one
        return sized(stuck & alone)

    @compiled()
    def narrow_no_follow_up(rows: Rows, fewest: int) -> None:
        """Keep placements after which no tile of the hand fits, or all others."""
        flip = everything if fewest else zero
        for number in range(LANES):
            lane = uint64(number)
            hand, left, right = rows[_MOVER + lane], rows[_LEFT + lane], rows[_RIGHT + lane]
            one, two = _last_of_a_value(hand)
            fits_left, fits_right = sized(hand & left), sized(hand & right)
            opens = signed(left) < whole(0)
            opened = sized(two | sized(one & doubles))
            at_left = opened if opens else _no_follow_up(fits_left, fits_right, one, two)
            at_right = zero if opens else _no_follow_up(fits_right, fits_left, one, two)
            kept_left, kept_right = narrowed(
                rows[_KEPT_LEFT + lane], rows[_KEPT_RIGHT + lane], sized(at_left ^ flip), sized(at_right ^ flip)
            )
            rows[_KEPT_LEFT + lane] = kept_left
            rows[_KEPT_RIGHT + lane] = kept_right

    return Narrows(
        narrow_pips, narrow_double, narrow_equal_ends, narrow_next_lacks_one, narrow_next_lacks_both, narrow_other_lacks,
        note_lacks, narrow_distinct, narrow_no_follow_up,
    )  # fmt: skip
