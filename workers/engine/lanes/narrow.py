"""Preferences over all lanes at once: each is a loop that leaves fewer placements kept.

`keep = keep & best if keep & best else keep` is the whole of a preference whose best placements are a mask; what must be
counted for each placement is in `score`.
"""

from collections.abc import Callable
from typing import Any

import numpy as np
from numba import int32, uint32, uint64

from workers.engine.compile import compiled
from workers.engine.lanes.bits import ones32, same, signed, unless, where
from workers.engine.lanes.layout import (
    ALL,
    COLUMNS,
    DOUBLES,
    KEPT_LEFT,
    KEPT_RIGHT,
    LANES,
    LEFT,
    MOVER,
    NEXT_TOUCHED,
    ONE32,
    ORDERED,
    ORDERED_PIPS,
    OTHERS_TOUCHED,
    PIP_PLANES,
    RIGHT,
    STOCK,
    SUITS,
    UNION,
    WIDTH,
    ZERO32,
    Bits,
    Rows,
)
from workers.engine.scalar.layout import Word, Words

_MOVER, _LEFT, _RIGHT, _UNION, _STOCK, _KEPT_LEFT, _KEPT_RIGHT, _NEXT, _OTHERS = (
    np.uint64(row * WIDTH) for row in (MOVER, LEFT, RIGHT, UNION, STOCK, KEPT_LEFT, KEPT_RIGHT, NEXT_TOUCHED, OTHERS_TOUCHED)
)
_KEPT, _COUNTED = np.uint64(ORDERED * WIDTH), np.uint64(ORDERED_PIPS * WIDTH)
"""Rows of the work table that nobody needs at this time."""
_S0, _S1, _S2, _S3, _S4, _S5, _S6 = SUITS
_D0, _D1, _D2, _D3, _D4, _D5, _D6 = (np.uint32(suit & DOUBLES) for suit in SUITS)
_P0, _P1, _P2, _P3 = PIP_PLANES
_MARK = np.uint32(1 << 28)
"""No tile: counted with every suit, so that no count of one is 0."""
_M0, _M1, _M2, _M3, _M4, _M5, _M6 = (np.uint32(suit | _MARK) for suit in SUITS)
_LOWEST = np.int32(-1000)
"""Below every score."""
_NOT_DOUBLES = np.uint32(ALL & ~DOUBLES)


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
def _alone(hand: Bits, suit: Bits) -> Bits:
    """The suit, if the hand holds no more than one tile of it."""
    held = uint32(hand & suit)
    return unless(held, uint32(held - ONE32), suit)


@compiled(inline=True)
def _last_of_a_value(hand: Bits) -> tuple[Bits, Bits]:
    """The tiles of a hand that are the last to show one of their values, and those that are the last to show two."""
    one = _alone(hand, _S0)
    two = ZERO32
    last = _alone(hand, _S1)
    one, two = uint32(one | last), uint32(one & last)
    last = _alone(hand, _S2)
    one, two = uint32(one | last), uint32(two | uint32(one & last))
    last = _alone(hand, _S3)
    one, two = uint32(one | last), uint32(two | uint32(one & last))
    last = _alone(hand, _S4)
    one, two = uint32(one | last), uint32(two | uint32(one & last))
    last = _alone(hand, _S5)
    one, two = uint32(one | last), uint32(two | uint32(one & last))
    last = _alone(hand, _S6)
    return uint32(one | last), uint32(two | uint32(one & last))


@compiled()
def narrow_distinct(rows: Rows, fewest: int) -> None:
    """Keep the placements that lose the hand the fewest values, or the most: none, one, or both of the tile's."""
    flip = ZERO32 if fewest else ALL
    for number in range(LANES):
        lane = uint64(number)
        one, two = _last_of_a_value(rows[_MOVER + lane])
        one, two = uint32(one ^ flip), uint32(two ^ flip)
        first, second = one if fewest else two, two if fewest else one
        left, right = _narrowed(rows[_KEPT_LEFT + lane], rows[_KEPT_RIGHT + lane], first, first)
        left, right = _narrowed(left, right, second, second)
        rows[_KEPT_LEFT + lane] = left
        rows[_KEPT_RIGHT + lane] = right


@compiled(inline=True)
def _no_follow_up(fits: Bits, others: Bits, one: Bits, two: Bits) -> Bits:
    """The placements at one end after which the hand fits neither; `fits` and `others` are what it holds for this end and for
    the other."""
    # Of the other end's suit it may hold the placed tile at most.
    stuck = unless(others, uint32(others - ONE32), others)
    stuck = ALL if others == ZERO32 else stuck
    # The new value must be on no other tile: on a tile that is the last of this end's value too, it is the second such one.
    end_alone = uint32(fits & uint32(fits - ONE32)) == ZERO32
    alone = uint32(two | uint32(one & DOUBLES)) if end_alone else one
    return uint32(stuck & alone)


@compiled()
def narrow_no_follow_up(rows: Rows, fewest: int) -> None:
    """Keep placements after which no tile of the hand fits, or all others."""
    flip = ALL if fewest else ZERO32
    for number in range(LANES):
        lane = uint64(number)
        hand, left, right = rows[_MOVER + lane], rows[_LEFT + lane], rows[_RIGHT + lane]
        one, two = _last_of_a_value(hand)
        fits_left, fits_right = uint32(hand & left), uint32(hand & right)
        opens = signed(left) < int32(0)
        opened = uint32(two | uint32(one & DOUBLES))
        at_left = opened if opens else _no_follow_up(fits_left, fits_right, one, two)
        at_right = ZERO32 if opens else _no_follow_up(fits_right, fits_left, one, two)
        kept_left, kept_right = _narrowed(
            rows[_KEPT_LEFT + lane], rows[_KEPT_RIGHT + lane], uint32(at_left ^ flip), uint32(at_right ^ flip)
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

    After a tile of the values (left end, v) has been placed, the other end's tiles fit and those of v. Of the latter only the
    ones that show neither present end make a difference between placements, and these are the same for both ends. So they are
    counted once for each v; placing a double leaves the ends as they are, and joining both ends loses one.
    """
    placed = 1 if own else 0

    @compiled()
    def narrow(rows: Rows, fewest: int) -> None:
        flip = ALL if fewest else ZERO32
        sign = int32(-1) if fewest else int32(1)
        lifted = int32(1) if fewest else int32(0)
        for number in range(LANES):
            lane = uint64(number)
            left, right = rows[_LEFT + lane], rows[_RIGHT + lane]
            tiles = rows[_MOVER + lane]
            if not own:
                tiles = uint32(uint32(rows[_STOCK + lane] | rows[_UNION + lane]) & uint32(ALL & ~tiles))
            kept_left, kept_right = rows[_KEPT_LEFT + lane], rows[_KEPT_RIGHT + lane]
            either, both = uint32(left | right), uint32(left & right)
            equal = left == right
            joint = ZERO32 if equal else both
            special = uint32(DOUBLES | joint)
            plain_left, plain_right = uint32(kept_left & ~special), uint32(kept_right & ~special)
            apart = uint32(uint32(uint32(tiles ^ flip) & ~either) | _MARK)
            c0, c1, c2 = ones32(uint32(apart & _M0)), ones32(uint32(apart & _M1)), ones32(uint32(apart & _M2))
            c3, c4, c5 = ones32(uint32(apart & _M3)), ones32(uint32(apart & _M4)), ones32(uint32(apart & _M5))
            c6 = ones32(uint32(apart & _M6))
            high_left = _highest_of(c0, plain_left, _S0, ZERO32)
            high_left = _highest_of(c1, plain_left, _S1, high_left)
            high_left = _highest_of(c2, plain_left, _S2, high_left)
            high_left = _highest_of(c3, plain_left, _S3, high_left)
            high_left = _highest_of(c4, plain_left, _S4, high_left)
            high_left = _highest_of(c5, plain_left, _S5, high_left)
            high_left = _highest_of(c6, plain_left, _S6, high_left)
            high_right = _highest_of(c0, plain_right, _S0, ZERO32)
            high_right = _highest_of(c1, plain_right, _S1, high_right)
            high_right = _highest_of(c2, plain_right, _S2, high_right)
            high_right = _highest_of(c3, plain_right, _S3, high_right)
            high_right = _highest_of(c4, plain_right, _S4, high_right)
            high_right = _highest_of(c5, plain_right, _S5, high_right)
            high_right = _highest_of(c6, plain_right, _S6, high_right)
            of_left, of_right = signed(ones32(uint32(tiles & left))), signed(ones32(uint32(tiles & right)))
            shared = of_left if equal else int32(0 if uint32(tiles & both) == ZERO32 else 1)
            # All scores are greater by one, and where the fewest are best also by as many tiles as could be apart.
            at_left = int32(signed(high_left) + int32(sign * (int32(of_right - placed) if equal else of_right)))
            at_right = int32(signed(high_right) + int32(sign * of_left))
            most_apart = int32(int32(int32(6) if equal else int32(5)) * lifted + int32(1))
            as_double = int32(int32(sign * int32(of_left + of_right - shared - placed)) + most_apart)
            joint_left = int32(int32(sign * int32(of_right - placed)) + most_apart)
            joint_right = int32(int32(sign * int32(of_left - placed)) + most_apart)
            at_left = _LOWEST if plain_left == ZERO32 else at_left
            at_right = _LOWEST if plain_right == ZERO32 else at_right
            as_double = _LOWEST if uint32(uint32(kept_left | kept_right) & DOUBLES) == ZERO32 else as_double
            joint_left = _LOWEST if uint32(kept_left & joint) == ZERO32 else joint_left
            joint_right = _LOWEST if uint32(kept_right & joint) == ZERO32 else joint_right
            best = at_left if at_left > at_right else at_right
            best = as_double if as_double > best else best
            best = joint_left if joint_left > best else best
            best = joint_right if joint_right > best else best
            sole_left = _of_count(c0, c1, c2, c3, c4, c5, c6, high_left)
            sole_right = _of_count(c0, c1, c2, c3, c4, c5, c6, high_right)
            stays = uint32(DOUBLES if as_double == best else ZERO32)
            new_left = uint32(uint32(sole_left & plain_left) if at_left == best else ZERO32)
            new_left = uint32(new_left | uint32(kept_left & uint32(stays | (joint if joint_left == best else ZERO32))))
            new_right = uint32(uint32(sole_right & plain_right) if at_right == best else ZERO32)
            new_right = uint32(new_right | uint32(kept_right & uint32(stays | (joint if joint_right == best else ZERO32))))
            opens = signed(left) < int32(0)
            rows[_KEPT_LEFT + lane] = same(kept_left) if opens else new_left
            rows[_KEPT_RIGHT + lane] = new_right

    return narrow


@compiled(inline=True)
def _of_count(c0: Bits, c1: Bits, c2: Bits, c3: Bits, c4: Bits, c5: Bits, c6: Bits, count: Bits) -> Bits:
    """The suits with this count."""
    suits = _S0 if c0 == count else ZERO32
    suits = uint32(suits | (_S1 if c1 == count else ZERO32))
    suits = uint32(suits | (_S2 if c2 == count else ZERO32))
    suits = uint32(suits | (_S3 if c3 == count else ZERO32))
    suits = uint32(suits | (_S4 if c4 == count else ZERO32))
    suits = uint32(suits | (_S5 if c5 == count else ZERO32))
    return uint32(suits | (_S6 if c6 == count else ZERO32))


@compiled(inline=True)
def _plus(a0: Bits, a1: Bits, a2: Bits, a3: Bits, count: Bits, suit: Bits) -> tuple[Bits, Bits, Bits, Bits]:
    """Binary digits of a number for each tile, plus a count of up to 7 for the tiles of a suit."""
    b0, b1, b2 = where(count, np.uint32(1), suit), where(count, np.uint32(2), suit), where(count, np.uint32(4), suit)
    carry = uint32(a0 & b0)
    one = uint32(a1 ^ b1)
    carry_one = uint32(uint32(a1 & b1) | uint32(carry & one))
    two = uint32(a2 ^ b2)
    carry_two = uint32(uint32(a2 & b2) | uint32(carry_one & two))
    return uint32(a0 ^ b0), uint32(one ^ carry), uint32(two ^ carry_one), uint32(a3 | carry_two)


def _opening_pass(own: bool) -> Callable[..., Any]:
    """The same for lines that have not begun, where both halves of a tile bring their suits: these are added up."""

    @compiled()
    def narrow(rows: Rows, table: Rows, lanes: Words, first: Word, count: int, fewest: int) -> None:
        """In `lanes[first : first + count]`, whose columns in the work table are free."""
        flip = ALL if fewest else ZERO32
        for number in range(count):
            column = uint64(number)
            lane = lanes[first + column]
            hand = rows[_MOVER + lane]
            table[_KEPT + column] = rows[_KEPT_LEFT + lane]
            table[_COUNTED + column] = hand if own else uint32(ALL & ~hand)
        for number in range((count + COLUMNS - 1) // COLUMNS * COLUMNS):
            column = uint64(number)
            tiles = table[_COUNTED + column]
            # The placed tile is one of the own ones: once for a double, else twice.
            a0, a1, a2, a3 = DOUBLES if own else ZERO32, ZERO32, ZERO32, ZERO32
            a0, a1, a2, a3 = _plus(a0, a1, a2, a3, ones32(uint32(tiles & _S0)), _S0)
            a0, a1, a2, a3 = _plus(a0, a1, a2, a3, ones32(uint32(tiles & _S1)), _S1)
            a0, a1, a2, a3 = _plus(a0, a1, a2, a3, ones32(uint32(tiles & _S2)), _S2)
            a0, a1, a2, a3 = _plus(a0, a1, a2, a3, ones32(uint32(tiles & _S3)), _S3)
            a0, a1, a2, a3 = _plus(a0, a1, a2, a3, ones32(uint32(tiles & _S4)), _S4)
            a0, a1, a2, a3 = _plus(a0, a1, a2, a3, ones32(uint32(tiles & _S5)), _S5)
            a0, a1, a2, a3 = _plus(a0, a1, a2, a3, ones32(uint32(tiles & _S6)), _S6)
            kept, none = table[_KEPT + column], ZERO32
            kept, none = _narrowed(kept, none, uint32(a3 ^ flip), ALL)
            kept, none = _narrowed(kept, none, uint32(a2 ^ flip), ALL)
            kept, none = _narrowed(kept, none, uint32(a1 ^ flip), ALL)
            kept, none = _narrowed(kept, none, uint32(a0 ^ flip), ALL)
            table[_KEPT + column] = kept
        for number in range(count):
            column = uint64(number)
            rows[_KEPT_LEFT + lanes[first + column]] = table[_KEPT + column]

    return narrow


narrow_mobility, open_by_mobility = _fitting_pass(own=True), _opening_pass(own=True)
narrow_unseen, open_by_unseen = _fitting_pass(own=False), _opening_pass(own=False)
