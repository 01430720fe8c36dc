"""Preferences over all lanes at once: each is a loop that leaves fewer placements kept.

`keep = keep & best if keep & best else keep` is the whole of a preference whose best placements are a mask; what must be
counted for each placement is in `score`.
"""

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
from numba import uint64

from workers.engine.compile import compiled
from workers.engine.lanes.bits import operations
from workers.engine.lanes.layout import (
    COLUMNS,
    KEPT_LEFT,
    KEPT_RIGHT,
    LANES,
    LEFT,
    MOVER,
    NEXT_TOUCHED,
    ORDERED,
    ORDERED_PIPS,
    OTHERS_TOUCHED,
    RIGHT,
    STOCK,
    UNION,
    WIDTH,
    Bits,
    Masks,
    Rows,
)
from workers.engine.scalar.layout import Word, Words

_MOVER, _LEFT, _RIGHT, _UNION, _STOCK, _KEPT_LEFT, _KEPT_RIGHT, _NEXT, _OTHERS = (
    np.uint64(row * WIDTH) for row in (MOVER, LEFT, RIGHT, UNION, STOCK, KEPT_LEFT, KEPT_RIGHT, NEXT_TOUCHED, OTHERS_TOUCHED)
)
_KEPT, _COUNTED = np.uint64(ORDERED * WIDTH), np.uint64(ORDERED_PIPS * WIDTH)
"""Rows of the work table that nobody needs at this time."""


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
    narrow_mobility: Callable[..., None]
    narrow_unseen: Callable[..., None]
    open_by_mobility: Callable[..., None]
    open_by_unseen: Callable[..., None]


def narrows_of(masks: Masks) -> Narrows:
    """The functions that depend on the set."""
    is_wide, sized, whole, zero = masks.is_wide, masks.sized, masks.whole, masks.number(0)
    one_bit, two_bit, four_bit, eight_bit = (masks.number(1 << digit) for digit in range(4))
    ones, signed, same, _, _, _, where, unless = operations(masks)
    everything, doubles, not_doubles = masks.all, masks.doubles, masks.all & ~masks.doubles
    p0, p1, p2, p3, p4 = masks.pip_planes
    # A value that the set does not have has no tiles, and the compiler drops it.
    s0, s1, s2, s3, s4, s5, s6, s7, s8, s9 = masks.suits
    d0, d1, d2, d3, d4, d5, d6, d7, d8, d9 = (suit & doubles for suit in masks.suits)
    mark = masks.mark
    # Counted with every suit, the mark keeps counts from 0.
    m0, m1, m2, m3, m4, m5, m6, m7, m8, m9 = (suit | mark if suit else suit for suit in masks.suits)
    most_apart_equal = masks.highest
    # Below every score.
    least = np.int64(-1000) if is_wide else np.int32(-1000)

    @compiled(inline=True)
    def _narrowed(left: Bits, right: Bits, kept_left: Bits, kept_right: Bits) -> tuple[Bits, Bits]:
        """Both masks cut down, where that leaves anything."""
        less_left = sized(left & kept_left)
        less_right = sized(right & kept_right)
        some = sized(less_left | less_right) != zero
        return less_left if some else same(left), less_right if some else same(right)

    @compiled()
    def narrow_pips(rows: Rows, fewest: int) -> None:
        """Keep the heaviest tiles, or the lightest: by the binary digits of their pips, from the highest."""
        flip = everything if fewest else zero
        f0, f1, f2, f3, f4 = sized(p0 ^ flip), sized(p1 ^ flip), sized(p2 ^ flip), sized(p3 ^ flip), sized(p4 ^ flip)
        for number in range(LANES):
            lane = uint64(number)
            left, right = rows[_KEPT_LEFT + lane], rows[_KEPT_RIGHT + lane]
            if is_wide:
                left, right = _narrowed(left, right, f4, f4)
            left, right = _narrowed(left, right, f3, f3)
            left, right = _narrowed(left, right, f2, f2)
            left, right = _narrowed(left, right, f1, f1)
            left, right = _narrowed(left, right, f0, f0)
            rows[_KEPT_LEFT + lane] = left
            rows[_KEPT_RIGHT + lane] = right

    @compiled()
    def narrow_double(rows: Rows, fewest: int) -> None:
        """Keep doubles, or all others."""
        wanted = not_doubles if fewest else doubles
        for number in range(LANES):
            lane = uint64(number)
            left, right = _narrowed(rows[_KEPT_LEFT + lane], rows[_KEPT_RIGHT + lane], wanted, wanted)
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
            left, right = _narrowed(rows[_KEPT_LEFT + lane], rows[_KEPT_RIGHT + lane], wanted, wanted)
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
                left, right = _narrowed(
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
            left, right = _narrowed(rows[_KEPT_LEFT + lane], rows[_KEPT_RIGHT + lane], first, first)
            left, right = _narrowed(left, right, second, second)
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
            kept_left, kept_right = _narrowed(
                rows[_KEPT_LEFT + lane], rows[_KEPT_RIGHT + lane], sized(at_left ^ flip), sized(at_right ^ flip)
            )
            rows[_KEPT_LEFT + lane] = kept_left
            rows[_KEPT_RIGHT + lane] = kept_right

    @compiled(inline=True)
    def _highest_of(count: Bits, kept: Bits, suit: Bits, highest: Bits) -> Bits:
        """The greater of `highest` and a count, which counts only if a kept tile is of the suit."""
        here = where(kept, suit, count)
        return here if signed(here) > signed(highest) else same(highest)

    def _fitting_pass(own: bool) -> Callable[..., Any]:
        """The pass for tiles that fit a new end: the own ones but for the placed tile, or the unseen ones.

        After a tile of the values (left end, v) has been placed, the other end's tiles fit and those of v. Of the latter only
        the ones that show neither present end make a difference between placements, and these are the same for both ends. So
        they are counted once for each v; placing a double leaves the ends as they are, and joining both ends loses one.
        """
        placed = 1 if own else 0

        @compiled()
        def narrow(rows: Rows, fewest: int) -> None:
            flip = everything if fewest else zero
            sign = whole(-1) if fewest else whole(1)
            lifted = whole(1) if fewest else whole(0)
            for number in range(LANES):
                lane = uint64(number)
                left, right = rows[_LEFT + lane], rows[_RIGHT + lane]
                tiles = rows[_MOVER + lane]
                if not own:
                    tiles = sized(sized(rows[_STOCK + lane] | rows[_UNION + lane]) & sized(everything & ~tiles))
                kept_left, kept_right = rows[_KEPT_LEFT + lane], rows[_KEPT_RIGHT + lane]
                either, both = sized(left | right), sized(left & right)
                equal = left == right
                joint = zero if equal else both
                special = sized(doubles | joint)
                plain_left, plain_right = sized(kept_left & ~special), sized(kept_right & ~special)
                apart = sized(sized(sized(tiles ^ flip) & ~either) | mark)
                c0, c1, c2 = ones(sized(apart & m0)), ones(sized(apart & m1)), ones(sized(apart & m2))
                c3, c4, c5 = ones(sized(apart & m3)), ones(sized(apart & m4)), ones(sized(apart & m5))
                c6, c7, c8 = ones(sized(apart & m6)), ones(sized(apart & m7)), ones(sized(apart & m8))
                c9 = ones(sized(apart & m9))
                high_left = _highest_of(c0, plain_left, s0, zero)
                high_left = _highest_of(c1, plain_left, s1, high_left)
                high_left = _highest_of(c2, plain_left, s2, high_left)
                high_left = _highest_of(c3, plain_left, s3, high_left)
                high_left = _highest_of(c4, plain_left, s4, high_left)
                high_left = _highest_of(c5, plain_left, s5, high_left)
                high_left = _highest_of(c6, plain_left, s6, high_left)
                if is_wide:
                    high_left = _highest_of(c7, plain_left, s7, high_left)
                    high_left = _highest_of(c8, plain_left, s8, high_left)
                    high_left = _highest_of(c9, plain_left, s9, high_left)
                high_right = _highest_of(c0, plain_right, s0, zero)
                high_right = _highest_of(c1, plain_right, s1, high_right)
                high_right = _highest_of(c2, plain_right, s2, high_right)
                high_right = _highest_of(c3, plain_right, s3, high_right)
                high_right = _highest_of(c4, plain_right, s4, high_right)
                high_right = _highest_of(c5, plain_right, s5, high_right)
                high_right = _highest_of(c6, plain_right, s6, high_right)
                if is_wide:
                    high_right = _highest_of(c7, plain_right, s7, high_right)
                    high_right = _highest_of(c8, plain_right, s8, high_right)
                    high_right = _highest_of(c9, plain_right, s9, high_right)
                of_left, of_right = signed(ones(sized(tiles & left))), signed(ones(sized(tiles & right)))
                shared = of_left if equal else whole(0 if sized(tiles & both) == zero else 1)
                # All scores are greater by one, and where the fewest are best also by as many tiles as could be apart.
                at_left = whole(signed(high_left) + whole(sign * (whole(of_right - placed) if equal else of_right)))
                at_right = whole(signed(high_right) + whole(sign * of_left))
                most_apart = whole(whole(whole(most_apart_equal) if equal else whole(most_apart_equal - 1)) * lifted + whole(1))
                as_double = whole(whole(sign * whole(of_left + of_right - shared - placed)) + most_apart)
                joint_left = whole(whole(sign * whole(of_right - placed)) + most_apart)
                joint_right = whole(whole(sign * whole(of_left - placed)) + most_apart)
                at_left = least if plain_left == zero else at_left
                at_right = least if plain_right == zero else at_right
                as_double = least if sized(sized(kept_left | kept_right) & doubles) == zero else as_double
                joint_left = least if sized(kept_left & joint) == zero else joint_left
                joint_right = least if sized(kept_right & joint) == zero else joint_right
                best = at_left if at_left > at_right else at_right
                best = as_double if as_double > best else best
                best = joint_left if joint_left > best else best
                best = joint_right if joint_right > best else best
                sole_left = _of_count(c0, c1, c2, c3, c4, c5, c6, c7, c8, c9, high_left)
                sole_right = _of_count(c0, c1, c2, c3, c4, c5, c6, c7, c8, c9, high_right)
                stays = sized(doubles if as_double == best else zero)
                new_left = sized(sized(sole_left & plain_left) if at_left == best else zero)
                new_left = sized(new_left | sized(kept_left & sized(stays | (joint if joint_left == best else zero))))
                new_right = sized(sized(sole_right & plain_right) if at_right == best else zero)
                new_right = sized(new_right | sized(kept_right & sized(stays | (joint if joint_right == best else zero))))
                opens = signed(left) < whole(0)
                rows[_KEPT_LEFT + lane] = same(kept_left) if opens else new_left
                rows[_KEPT_RIGHT + lane] = new_right

        return narrow

    @compiled(inline=True)
    def _of_count(
        c0: Bits, c1: Bits, c2: Bits, c3: Bits, c4: Bits, c5: Bits, c6: Bits, c7: Bits, c8: Bits, c9: Bits, count: Bits,
    ) -> Bits:  # fmt: skip
        """The suits with this count."""
        suits = s0 if c0 == count else zero
        suits = sized(suits | (s1 if c1 == count else zero))
        suits = sized(suits | (s2 if c2 == count else zero))
        suits = sized(suits | (s3 if c3 == count else zero))
        suits = sized(suits | (s4 if c4 == count else zero))
        suits = sized(suits | (s5 if c5 == count else zero))
        suits = sized(suits | (s6 if c6 == count else zero))
        suits = sized(suits | (s7 if c7 == count else zero))
        suits = sized(suits | (s8 if c8 == count else zero))
        return sized(suits | (s9 if c9 == count else zero))

    @compiled(inline=True)
    def _plus(
        a0: Bits, a1: Bits, a2: Bits, a3: Bits, a4: Bits, count: Bits, suit: Bits,
    ) -> tuple[Bits, Bits, Bits, Bits, Bits]:  # fmt: skip
        """Binary digits of a number for each tile, plus a count (up to 7, or 15 in wide words) for the tiles of a suit."""
        b0, b1, b2 = where(count, one_bit, suit), where(count, two_bit, suit), where(count, four_bit, suit)
        carry = sized(a0 & b0)
        one = sized(a1 ^ b1)
        carry_one = sized(sized(a1 & b1) | sized(carry & one))
        second = sized(a2 ^ b2)
        carry_two = sized(sized(a2 & b2) | sized(carry_one & second))
        a0, a1, a2 = sized(a0 ^ b0), sized(one ^ carry), sized(second ^ carry_one)
        if not is_wide:
            return a0, a1, a2, sized(a3 | carry_two), a4
        b3 = where(count, eight_bit, suit)
        third = sized(a3 ^ b3)
        carry_three = sized(sized(a3 & b3) | sized(carry_two & third))
        return a0, a1, a2, sized(third ^ carry_two), sized(a4 | carry_three)

    def _opening_pass(own: bool) -> Callable[..., Any]:
        """The same for lines that have not begun, where both halves of a tile bring their suits: these are added up."""

        @compiled()
        def narrow(rows: Rows, table: Rows, lanes: Words, first: Word, count: int, fewest: int) -> None:
            """In `lanes[first : first + count]`, whose columns in the work table are free."""
            flip = everything if fewest else zero
            for number in range(count):
                column = uint64(number)
                lane = lanes[first + column]
                hand = rows[_MOVER + lane]
                table[_KEPT + column] = rows[_KEPT_LEFT + lane]
                table[_COUNTED + column] = hand if own else sized(everything & ~hand)
            for number in range((count + COLUMNS - 1) // COLUMNS * COLUMNS):
                column = uint64(number)
                tiles = table[_COUNTED + column]
                # The placed tile is one of the own ones: once for a double, else twice.
                a0, a1, a2, a3, a4 = doubles if own else zero, zero, zero, zero, zero
                a0, a1, a2, a3, a4 = _plus(a0, a1, a2, a3, a4, ones(sized(tiles & s0)), s0)
                a0, a1, a2, a3, a4 = _plus(a0, a1, a2, a3, a4, ones(sized(tiles & s1)), s1)
                a0, a1, a2, a3, a4 = _plus(a0, a1, a2, a3, a4, ones(sized(tiles & s2)), s2)
                a0, a1, a2, a3, a4 = _plus(a0, a1, a2, a3, a4, ones(sized(tiles & s3)), s3)
                a0, a1, a2, a3, a4 = _plus(a0, a1, a2, a3, a4, ones(sized(tiles & s4)), s4)
                a0, a1, a2, a3, a4 = _plus(a0, a1, a2, a3, a4, ones(sized(tiles & s5)), s5)
                a0, a1, a2, a3, a4 = _plus(a0, a1, a2, a3, a4, ones(sized(tiles & s6)), s6)
                a0, a1, a2, a3, a4 = _plus(a0, a1, a2, a3, a4, ones(sized(tiles & s7)), s7)
                a0, a1, a2, a3, a4 = _plus(a0, a1, a2, a3, a4, ones(sized(tiles & s8)), s8)
                a0, a1, a2, a3, a4 = _plus(a0, a1, a2, a3, a4, ones(sized(tiles & s9)), s9)
                kept, none = table[_KEPT + column], zero
                if is_wide:
                    kept, none = _narrowed(kept, none, sized(a4 ^ flip), everything)
                kept, none = _narrowed(kept, none, sized(a3 ^ flip), everything)
                kept, none = _narrowed(kept, none, sized(a2 ^ flip), everything)
                kept, none = _narrowed(kept, none, sized(a1 ^ flip), everything)
                kept, none = _narrowed(kept, none, sized(a0 ^ flip), everything)
                table[_KEPT + column] = kept
            for number in range(count):
                column = uint64(number)
                rows[_KEPT_LEFT + lanes[first + column]] = table[_KEPT + column]

        return narrow

    narrow_mobility, open_by_mobility = _fitting_pass(own=True), _opening_pass(own=True)
    narrow_unseen, open_by_unseen = _fitting_pass(own=False), _opening_pass(own=False)

    return Narrows(
        narrow_pips, narrow_double, narrow_equal_ends, narrow_next_lacks_one, narrow_next_lacks_both, narrow_other_lacks,
        note_lacks, narrow_distinct, narrow_no_follow_up, narrow_mobility, narrow_unseen, open_by_mobility, open_by_unseen,
    )  # fmt: skip
