"""Preferences that count for each placement the tiles that fit a new end: the own ones (mobility) or those unseen.

Only lanes that still have a choice are looked at, which `undecided` brings together.
"""

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
from numba import uint16, uint64

from workers.engine.compile import compiled
from workers.engine.lanes.bits import can_count_in_vectors, operations
from workers.engine.lanes.layout import COLUMNS, KEPT_LEFT, MOVER, WIDTH, Bits, Bytes, Masks, Rows, Shorts
from workers.engine.lanes.undecided import AT_LEFT, AT_RIGHT, COUNTED, HAND, KEPT, OTHER_KEPT, undecided_of
from workers.engine.scalar.bits import whole as whole_number
from workers.engine.scalar.layout import Word, Words

_MOVER, _KEPT_LEFT = np.uint64(MOVER * WIDTH), np.uint64(KEPT_LEFT * WIDTH)


class Fits(NamedTuple):
    """These preferences over one set of tiles; before those that come `then`, `double` or `fewest_double` is the only one."""

    narrow_most_mobility: Callable[..., None]
    narrow_least_mobility: Callable[..., None]
    narrow_most_unseen: Callable[..., None]
    narrow_least_unseen: Callable[..., None]
    then_most_mobility: Callable[..., None]
    then_least_mobility: Callable[..., None]
    then_most_unseen: Callable[..., None]
    then_least_unseen: Callable[..., None]
    open_by_mobility: Callable[..., None]
    open_by_unseen: Callable[..., None]


def fits_of(masks: Masks) -> Fits:
    """The functions that depend on the set."""
    is_wide, sized, whole, zero = masks.is_wide, masks.sized, masks.whole, masks.number(0)
    one_bit, two_bit, four_bit, eight_bit = (masks.number(1 << digit) for digit in range(4))
    ones, signed, _, narrowed, _, _, _, where, _ = operations(masks)
    everything, doubles, not_doubles, highest = masks.all, masks.doubles, masks.all & ~masks.doubles, masks.highest
    # A value that the set does not have has no tiles, and the compiler drops it.
    s0, s1, s2, s3, s4, s5, s6, s7, s8, s9 = masks.suits
    bring_for, put_back = undecided_of(masks)
    # Below every score.
    least: Any = np.int64(-1000) if is_wide else np.int32(-1000)

    counts_at_once = is_wide or can_count_in_vectors()
    # Sums of fields stand in the highest one.
    in_count = [masks.number(1 << digit + (0 if counts_at_once else 29)) for digit in range(3)] + [eight_bit]
    count_one, count_two, count_four, count_eight = in_count
    # Seven tiles of a suit fit a field of three bits, in words that end with a field.
    fields = zero if is_wide else masks.number(sum(1 << place for place in range(2, 32, 3)))
    to_last_field = zero if is_wide else masks.number(sum(1 << place for place in range(0, 30, 3)))

    def _in_fields(suit: Bits) -> Bits:
        return tuple(masks.number(int(suit) << 2 - shift & int(fields)) for shift in range(3))

    (
        (a0, b0, c0), (a1, b1, c1), (a2, b2, c2), (a3, b3, c3), (a4, b4, c4), (a5, b5, c5), (a6, b6, c6),
    ) = map(_in_fields, masks.suits[:7])  # fmt: skip

    @compiled(inline=True)
    def _sum_of_fields(a: Bits, b: Bits, c: Bits) -> Bits:
        return sized(sized(sized(a + b) + c) * to_last_field)

    @compiled(inline=True)
    def _counts(tiles: Bits) -> tuple[Bits, Bits, Bits, Bits, Bits, Bits, Bits, Bits, Bits, Bits]:
        """How many of some tiles show each value, which are seven at most on double-six: with digits as in `in_count`.

        Without an instruction that counts the bits of a vector's words, sums of fields of three bits take half the time.
        """
        if counts_at_once:
            return (
                ones(sized(tiles & s0)), ones(sized(tiles & s1)), ones(sized(tiles & s2)), ones(sized(tiles & s3)),
                ones(sized(tiles & s4)), ones(sized(tiles & s5)), ones(sized(tiles & s6)), ones(sized(tiles & s7)),
                ones(sized(tiles & s8)), ones(sized(tiles & s9)),
            )  # fmt: skip
        a = sized(sized(tiles << sized(2)) & fields)
        b = sized(sized(tiles << sized(1)) & fields)
        c = sized(tiles & fields)
        return (
            _sum_of_fields(sized(a & a0), sized(b & b0), sized(c & c0)),
            _sum_of_fields(sized(a & a1), sized(b & b1), sized(c & c1)),
            _sum_of_fields(sized(a & a2), sized(b & b2), sized(c & c2)),
            _sum_of_fields(sized(a & a3), sized(b & b3), sized(c & c3)),
            _sum_of_fields(sized(a & a4), sized(b & b4), sized(c & c4)),
            _sum_of_fields(sized(a & a5), sized(b & b5), sized(c & c5)),
            _sum_of_fields(sized(a & a6), sized(b & b6), sized(c & c6)),
            zero, zero, zero,
        )  # fmt: skip

    @compiled(inline=True)
    def _noted(
        p0: Bits, p1: Bits, p2: Bits, p3: Bits, count: Bits, suit: Bits,
    ) -> tuple[Bits, Bits, Bits, Bits]:  # fmt: skip
        """Binary digits by tile, with those of a count added for the tiles of a suit."""
        p0 = sized(p0 | where(count, count_one, suit))
        p1 = sized(p1 | where(count, count_two, suit))
        p2 = sized(p2 | where(count, count_four, suit))
        return p0, p1, p2, sized(p3 | where(count, count_eight, suit)) if is_wide else p3

    @compiled(inline=True)
    def _greatest(kept: Bits, p0: Bits, p1: Bits, p2: Bits, p3: Bits) -> tuple[Bits, Any]:
        """The kept tiles whose number, given by its binary digits, is greatest, and that number; `least` without any tile."""
        number = zero
        if is_wide:
            with_digit = sized(kept & p3)
            number = eight_bit if with_digit != zero else number
            kept = with_digit if with_digit != zero else kept
        with_digit = sized(kept & p2)
        number = sized(number | (four_bit if with_digit != zero else zero))
        kept = with_digit if with_digit != zero else kept
        with_digit = sized(kept & p1)
        number = sized(number | (two_bit if with_digit != zero else zero))
        kept = with_digit if with_digit != zero else kept
        with_digit = sized(kept & p0)
        number = sized(number | (one_bit if with_digit != zero else zero))
        kept = with_digit if with_digit != zero else kept
        return kept, least if kept == zero else signed(number)

    def _fitting_pass(own: bool, fewest: bool, after_double: bool) -> Callable[..., Any]:
        """The pass for tiles that fit a new end: the own ones but for the placed tile, or the unseen ones.

        After a tile of the values (left end, v) has been placed, the right end's tiles fit and those of v. Of the latter only
        the ones apart, that show neither present end, make a difference between placements, and these are the same for both
        ends. So they are counted once for each v. Scores leave out the right end's tiles: a placement at the right end has
        the left end's tiles instead, so many more.
        """
        bring = bring_for(own, after_double)
        placed = 1 if own else 0
        # Where the fewest are best, tiles apart that do not fit are counted, and scores are greater by all that there can be.
        flip, sign = (everything, -1) if fewest else (zero, 1)
        most_apart, most_apart_equal = (masks.highest - 1, masks.highest) if fewest else (0, 0)
        # The tile that joins both ends leads to nothing apart; where the own tiles are counted it was itself one of the other
        # end's. For the most of these its number is -1, which has no digits, so it is looked at where there is no other.
        joins_last = own and not fewest
        of_joint = most_apart - sign * placed
        j0, j1, j2, j3 = (everything if not joins_last and of_joint >> digit & 1 else zero for digit in range(4))

        @compiled(inline=True)
        def best_of(kept: Bits, joint: Bits, p0: Bits, p1: Bits, p2: Bits, p3: Bits) -> tuple[Bits, Any]:
            """The best of the placements at an end, none of them a double, and their score there."""
            if joins_last:
                before = sized(kept & ~joint)
                best, high = _greatest(kept if before == zero else before, p0, p1, p2, p3)
                return best, whole(high - whole(1 if before == zero else 0))
            return _greatest(kept, p0, p1, p2, p3)

        @compiled()
        def narrow(rows: Rows, table: Rows, marks: Words, ended: Bytes, lanes: Shorts) -> None:
            """In all lanes of lines that have begun; `marks`, the same as the bytes of `ended`, and `lanes` are room."""
            count = bring(rows, table, marks, ended, lanes)
            for number in range((count + COLUMNS - 1) // COLUMNS * COLUMNS):
                column = uint64(number)
                tiles, left, right = table[COUNTED + column], table[AT_LEFT + column], table[AT_RIGHT + column]
                equal = left == right
                if after_double:
                    # No doubles are left where there is a choice.
                    moves = sized((tiles if own else table[HAND + column]) & not_doubles)
                    kept_left, kept_right = sized(moves & left), zero if equal else sized(moves & right)
                    moves_left, moves_right = kept_left, kept_right
                else:
                    kept_left, kept_right = table[KEPT + column], table[OTHER_KEPT + column]
                    moves_left, moves_right = sized(kept_left & not_doubles), sized(kept_right & not_doubles)
                either, joint = sized(left | right), zero if equal else sized(left & right)
                apart = sized(sized(tiles ^ flip) & ~either)
                n0, n1, n2, n3, n4, n5, n6, n7, n8, n9 = _counts(apart)
                # Of the present ends' suits no tile is apart; a tile of them has the number of its other value.
                p0, p1, p2, p3 = sized(joint & j0), sized(joint & j1), sized(joint & j2), sized(joint & j3)
                p0, p1, p2, p3 = _noted(p0, p1, p2, p3, n0, s0)
                p0, p1, p2, p3 = _noted(p0, p1, p2, p3, n1, s1)
                p0, p1, p2, p3 = _noted(p0, p1, p2, p3, n2, s2)
                p0, p1, p2, p3 = _noted(p0, p1, p2, p3, n3, s3)
                p0, p1, p2, p3 = _noted(p0, p1, p2, p3, n4, s4)
                p0, p1, p2, p3 = _noted(p0, p1, p2, p3, n5, s5)
                p0, p1, p2, p3 = _noted(p0, p1, p2, p3, n6, s6)
                if is_wide:
                    p0, p1, p2, p3 = _noted(p0, p1, p2, p3, n7, s7)
                    p0, p1, p2, p3 = _noted(p0, p1, p2, p3, n8, s8)
                    p0, p1, p2, p3 = _noted(p0, p1, p2, p3, n9, s9)
                best_left, high_left = best_of(moves_left, joint, p0, p1, p2, p3)
                best_right, high_right = best_of(moves_right, joint, p0, p1, p2, p3)
                # The left end's tiles that are there and the right end's that are not; of the latter there are `highest`.
                more_left = whole(signed(ones(sized(sized(tiles ^ right) & sized(left ^ right)))) - highest)
                high_right = whole(high_right + whole(sign * more_left))
                if after_double:
                    table[KEPT + column] = best_left if high_left >= high_right else zero
                    table[OTHER_KEPT + column] = best_right if high_right >= high_left else zero
                else:
                    high_left = whole(high_left - whole(sign * placed if equal else 0))
                    # A double leaves both ends as they are.
                    high_double = whole(sign * whole(signed(ones(sized(sized(tiles & left) & ~right))) - placed))
                    high_double = whole(high_double + whole(most_apart_equal if equal else most_apart))
                    high_double = least if sized(sized(kept_left | kept_right) & doubles) == zero else high_double
                    high = high_left if high_left > high_right else high_right
                    high = high_double if high_double > high else high
                    stays = sized(doubles if high_double == high else zero)
                    new_left = sized(best_left if high_left == high else zero)
                    new_right = sized(best_right if high_right == high else zero)
                    table[KEPT + column] = sized(new_left | sized(kept_left & stays))
                    table[OTHER_KEPT + column] = sized(new_right | sized(kept_right & stays))
            put_back(rows, table, marks, lanes, count)

        return narrow

    @compiled(inline=True)
    def _plus(
        a0: Bits, a1: Bits, a2: Bits, a3: Bits, a4: Bits, count: Bits, suit: Bits,
    ) -> tuple[Bits, Bits, Bits, Bits, Bits]:  # fmt: skip
        """Binary digits of a number for each tile, plus a count (up to 7, or 15 in wide words) for the tiles of a suit."""
        b0, b1, b2 = where(count, count_one, suit), where(count, count_two, suit), where(count, count_four, suit)
        carry = sized(a0 & b0)
        one = sized(a1 ^ b1)
        carry_one = sized(sized(a1 & b1) | sized(carry & one))
        second = sized(a2 ^ b2)
        carry_two = sized(sized(a2 & b2) | sized(carry_one & second))
        a0, a1, a2 = sized(a0 ^ b0), sized(one ^ carry), sized(second ^ carry_one)
        if not is_wide:
            return a0, a1, a2, sized(a3 | carry_two), a4
        b3 = where(count, count_eight, suit)
        third = sized(a3 ^ b3)
        carry_three = sized(sized(a3 & b3) | sized(carry_two & third))
        return a0, a1, a2, sized(third ^ carry_two), sized(a4 | carry_three)

    def _opening_pass(own: bool) -> Callable[..., Any]:
        """The same for lines that have not begun, where both halves of a tile bring their suits: these are added up."""

        @compiled()
        def narrow(
            rows: Rows, table: Rows, openings: Words, first: Word, opened: int, lanes: Shorts, fewest: int,
        ) -> None:  # fmt: skip
            """In those of `openings[first : first + opened]` that still have a choice; `lanes` is room for a list of them."""
            flip = everything if fewest else zero
            filled = uint64(0)
            for number in range(opened):
                lane = openings[first + uint64(number)]
                hand, kept = rows[_MOVER + lane], rows[_KEPT_LEFT + lane]
                table[KEPT + filled] = kept
                table[COUNTED + filled] = hand if own else sized(everything & ~hand)
                lanes[filled] = uint16(lane)
                filled += uint64(sized(kept & sized(kept - one_bit)) != zero)
            count = whole_number(filled)
            for number in range((count + COLUMNS - 1) // COLUMNS * COLUMNS):
                column = uint64(number)
                tiles = table[COUNTED + column]
                # The placed tile is one of the own ones: once for a double, else twice.
                a0, a1, a2, a3, a4 = doubles if own else zero, zero, zero, zero, zero
                n0, n1, n2, n3, n4, n5, n6, n7, n8, n9 = _counts(tiles)
                a0, a1, a2, a3, a4 = _plus(a0, a1, a2, a3, a4, n0, s0)
                a0, a1, a2, a3, a4 = _plus(a0, a1, a2, a3, a4, n1, s1)
                a0, a1, a2, a3, a4 = _plus(a0, a1, a2, a3, a4, n2, s2)
                a0, a1, a2, a3, a4 = _plus(a0, a1, a2, a3, a4, n3, s3)
                a0, a1, a2, a3, a4 = _plus(a0, a1, a2, a3, a4, n4, s4)
                a0, a1, a2, a3, a4 = _plus(a0, a1, a2, a3, a4, n5, s5)
                a0, a1, a2, a3, a4 = _plus(a0, a1, a2, a3, a4, n6, s6)
                a0, a1, a2, a3, a4 = _plus(a0, a1, a2, a3, a4, n7, s7)
                a0, a1, a2, a3, a4 = _plus(a0, a1, a2, a3, a4, n8, s8)
                a0, a1, a2, a3, a4 = _plus(a0, a1, a2, a3, a4, n9, s9)
                kept, none = table[KEPT + column], zero
                if is_wide:
                    kept, none = narrowed(kept, none, sized(a4 ^ flip), everything)
                kept, none = narrowed(kept, none, sized(a3 ^ flip), everything)
                kept, none = narrowed(kept, none, sized(a2 ^ flip), everything)
                kept, none = narrowed(kept, none, sized(a1 ^ flip), everything)
                kept, none = narrowed(kept, none, sized(a0 ^ flip), everything)
                table[KEPT + column] = kept
            for number in range(count):
                column = uint64(number)
                rows[_KEPT_LEFT + uint64(lanes[column])] = table[KEPT + column]

        return narrow

    return Fits(
        narrow_most_mobility=_fitting_pass(own=True, fewest=False, after_double=False),
        narrow_least_mobility=_fitting_pass(own=True, fewest=True, after_double=False),
        narrow_most_unseen=_fitting_pass(own=False, fewest=False, after_double=False),
        narrow_least_unseen=_fitting_pass(own=False, fewest=True, after_double=False),
        then_most_mobility=_fitting_pass(own=True, fewest=False, after_double=True),
        then_least_mobility=_fitting_pass(own=True, fewest=True, after_double=True),
        then_most_unseen=_fitting_pass(own=False, fewest=False, after_double=True),
        then_least_unseen=_fitting_pass(own=False, fewest=True, after_double=True),
        open_by_mobility=_opening_pass(own=True),
        open_by_unseen=_opening_pass(own=False),
    )
