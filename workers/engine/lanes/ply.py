"""One ply of every lane: random words, the finishes of policies, and what a placement does to the position.

Each function is one loop over all lanes without branches. A lane whose seat cannot play, or that waits for its next round
with empty hands, goes through the same motions with an empty placement, which changes nothing.
"""

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
from numba import uint8, uint64

from workers.engine import rng
from workers.engine.compile import compiled
from workers.engine.lanes.bits import operations
from workers.engine.lanes.layout import (
    CHOICE,
    KEPT_LEFT,
    KEPT_RIGHT,
    LANES,
    LEFT,
    LOW_WORD,
    MOVER,
    RIGHT,
    UNION,
    WIDTH,
    WORD,
    Bits,
    Bytes,
    Masks,
    Rows,
)
from workers.engine.scalar.layout import Word, Words
from workers.engine.scalar.random import mix64

_TURN = np.uint64(rng.SEATS_PER_NUMBER * rng.GAMMA & rng.MASK64)
"""From a seat's decision to its next one."""
_L = np.uint64(LANES)
_MOVER, _LEFT, _RIGHT, _UNION, _WORD, _LOW_WORD, _KEPT_LEFT, _KEPT_RIGHT, _CHOICE = (
    np.uint64(row * WIDTH) for row in (MOVER, LEFT, RIGHT, UNION, WORD, LOW_WORD, KEPT_LEFT, KEPT_RIGHT, CHOICE)
)
_LOW_HALF = np.uint64(rng.MASK32)


@compiled()
def copy_row(rows: Rows, source: Word, target: Word) -> None:
    """Copy a row; the arguments are where the rows begin."""
    for lane in range(LANES):
        rows[target + uint64(lane)] = rows[source + uint64(lane)]


@compiled()
def merge_row(rows: Rows, source: Word, target: Word) -> None:
    """Add the set bits of one row to another."""
    for number in range(LANES):
        lane = uint64(number)
        rows[target + lane] = rows[target + lane] | rows[source + lane]


@compiled()
def draw_words(rows: Rows, addresses: Words, first: Word) -> None:
    """The random word of each lane's seat to move into `WORD`; `addresses[first:]` are theirs and move on to the next turn."""
    for number in range(LANES):
        lane = uint64(number)
        address = addresses[first + lane]
        addresses[first + lane] = address + _TURN
        rows[_WORD + lane] = mix64(address) >> uint64(32)


@compiled()
def draw_long_words(rows: Rows, addresses: Words, first: Word) -> None:
    """The same with the low half into `LOW_WORD`."""
    for number in range(LANES):
        lane = uint64(number)
        address = addresses[first + lane]
        addresses[first + lane] = address + _TURN
        bits = mix64(address)
        rows[_WORD + lane] = bits >> uint64(32)
        rows[_LOW_WORD + lane] = bits & _LOW_HALF


class Plies(NamedTuple):
    """What policies choose over one set of tiles, at random among as many placements at an end as the name says; and what a
    choice does."""

    place: Callable[..., None]
    choose_random_five: Callable[..., None]
    choose_random_seven: Callable[..., None]
    choose_top: Callable[..., None]
    fill_kept: Callable[..., None]
    finish_random_seven: Callable[..., None]
    finish_random_any: Callable[..., None]
    finish_top: Callable[..., None]
    finish_random_tile: Callable[..., None]


def plies_of(masks: Masks) -> Plies:
    """The functions that depend on the set."""
    is_wide, sized, whole, zero, one_bit = masks.is_wide, masks.sized, masks.whole, masks.number(0), masks.number(1)
    ones, signed, _, narrowed, scaled, lowest, highest, where, _ = operations(masks)
    top_bit, right_mark, not_right_mark = masks.number(1 << 31), masks.opening, ~masks.opening
    doubles, suits_of = masks.doubles, masks.suits
    # A value that the set does not have brings nothing, and the compiler drops it.
    _, c1, c2, c3, c4, c5, c6, c7, c8, c9 = (suit & ~doubles for suit in suits_of)
    x1, x2, x3, x4, x5, x6, x7, x8, x9 = (suits_of[0] ^ suit for suit in suits_of[1:])

    @compiled(inline=True)
    def crossing(tile: Bits) -> Bits:
        """The suits of a tile's two halves, without what they share; nothing for a double, which leads to its own value.

        Each value but 0 brings its own suit and that of 0, so that a tile with two of them is rid of the suit of 0 again.
        """
        suits = where(tile, c1, x1)
        suits = sized(suits ^ where(tile, c2, x2))
        suits = sized(suits ^ where(tile, c3, x3))
        suits = sized(suits ^ where(tile, c4, x4))
        suits = sized(suits ^ where(tile, c5, x5))
        suits = sized(suits ^ where(tile, c6, x6))
        suits = sized(suits ^ where(tile, c7, x7))
        suits = sized(suits ^ where(tile, c8, x8))
        return sized(suits ^ where(tile, c9, x9))

    @compiled(inline=True)
    def _less(bits: Bits, chosen: Bits, number: int) -> Bits:
        """Without the lowest set bit, if more than `number` are to be dropped. (Less nothing or one, then cut down.)"""
        return sized(bits & sized(bits - (one_bit if signed(chosen) > whole(number) else zero)))

    # Written out: with a loop inside, the first lane is taken out of the loop over lanes and the rest no longer fills vectors.

    @compiled(inline=True)
    def _drop_five(bits: Bits, chosen: Bits) -> Bits:
        bits = _less(_less(_less(_less(bits, chosen, 0), chosen, 1), chosen, 2), chosen, 3)
        return lowest(bits)

    @compiled(inline=True)
    def _drop_seven(bits: Bits, chosen: Bits) -> Bits:
        bits = _less(_less(_less(_less(bits, chosen, 0), chosen, 1), chosen, 2), chosen, 3)
        return lowest(_less(_less(bits, chosen, 4), chosen, 5))

    # Of the suits of two ends 12 tiles may be in a hand, or 18 on double-nine; at the opening 14 are.
    @compiled(inline=True)
    def _drop_any(bits: Bits, chosen: Bits) -> Bits:
        bits = _less(_less(_less(_less(bits, chosen, 0), chosen, 1), chosen, 2), chosen, 3)
        bits = _less(_less(_less(_less(bits, chosen, 4), chosen, 5), chosen, 6), chosen, 7)
        bits = _less(_less(_less(_less(bits, chosen, 8), chosen, 9), chosen, 10), chosen, 11)
        bits = _less(bits, chosen, 12)
        if is_wide:
            bits = _less(_less(_less(_less(bits, chosen, 13), chosen, 14), chosen, 15), chosen, 16)
        return lowest(bits)

    @compiled(inline=True)
    def _choose(rows: Rows, lane: Word, tile: Bits, at_right: bool) -> None:
        rows[_CHOICE + lane] = sized(tile | right_mark) if at_right else tile

    @compiled()
    def place(rows: Rows, ended: Bytes) -> None:
        """Carry out all choices, and mark in `ended` where the round ends with them: the hand is empty, or nobody can play.

        A line that nobody can continue is known as soon as it is there; the passes that follow are only counted.
        """
        for number in range(LANES):
            lane = uint64(number)
            choice = rows[_CHOICE + lane]
            hand, left, right = rows[_MOVER + lane], rows[_LEFT + lane], rows[_RIGHT + lane]
            at_right = signed(choice) < whole(0)
            tile = sized(choice & not_right_mark)
            suits = crossing(tile)
            left = left if at_right else sized(left ^ suits)
            right = sized(right ^ suits) if at_right else right
            hand = sized(hand ^ tile)
            union = sized(rows[_UNION + lane] ^ tile)
            rows[_MOVER + lane] = hand
            rows[_UNION + lane] = union
            rows[_LEFT + lane] = left
            rows[_RIGHT + lane] = right
            over = (hand == zero) | (sized(union & sized(left | right)) == zero)
            ended[lane] = uint8((tile != zero) & over)

    def _random_ply_for(drop: Callable[[Bits, Bits], Bits]) -> Callable[..., Any]:
        @compiled()
        def choose_random(rows: Rows) -> None:
            """What policies choose that play uniformly over all placements, for hands as large as `drop` takes."""
            for number in range(LANES):
                lane = uint64(number)
                hand, left, right = rows[_MOVER + lane], rows[_LEFT + lane], rows[_RIGHT + lane]
                fits_left = sized(hand & left)
                fits_right = sized(hand & right) if left != right else zero
                at_left = ones(fits_left)
                chosen = scaled(rows[_WORD + lane], sized(at_left + ones(fits_right)))
                at_right = signed(chosen) >= signed(at_left)
                fits = fits_right if at_right else fits_left
                chosen = sized(chosen - at_left) if at_right else chosen
                _choose(rows, lane, drop(fits, chosen), at_right)

        return choose_random

    choose_random_five, choose_random_seven = _random_ply_for(_drop_five), _random_ply_for(_drop_seven)

    @compiled()
    def choose_top(rows: Rows) -> None:
        """What policies choose that play the heaviest tile, at the smaller end where it fits both."""
        for number in range(LANES):
            lane = uint64(number)
            hand, left, right = rows[_MOVER + lane], rows[_LEFT + lane], rows[_RIGHT + lane]
            tile = highest(sized(hand & sized(left | right)))
            in_left = sized(tile & left) != zero
            in_right = sized(tile & right) != zero
            # Suits compare as their values do: the highest tile of each is the one with a six.
            at_right = in_right & ((not in_left) | (signed(right) < signed(left)))
            _choose(rows, lane, tile, at_right)

    @compiled()
    def fill_kept(rows: Rows, wanted: Bits) -> None:
        """The placements of each lane's seat to move into `KEPT_LEFT` and `KEPT_RIGHT`: those of `wanted` tiles, if it has any,
        else all. (With the first preference here, two rows less are written and read.)"""
        for number in range(LANES):
            lane = uint64(number)
            hand, left, right = rows[_MOVER + lane], rows[_LEFT + lane], rows[_RIGHT + lane]
            fits_left, fits_right = sized(hand & left), sized(hand & right) if left != right else zero
            fits_left, fits_right = narrowed(fits_left, fits_right, wanted, wanted)
            rows[_KEPT_LEFT + lane] = fits_left
            rows[_KEPT_RIGHT + lane] = fits_right

    def _finish_random_for(drop: Callable[[Bits, Bits], Bits]) -> Callable[..., Any]:
        @compiled()
        def finish_random(rows: Rows) -> None:
            """One of the kept placements, uniformly."""
            for number in range(LANES):
                lane = uint64(number)
                fits_left, fits_right = rows[_KEPT_LEFT + lane], rows[_KEPT_RIGHT + lane]
                at_left = ones(fits_left)
                chosen = scaled(rows[_WORD + lane], sized(at_left + ones(fits_right)))
                at_right = signed(chosen) >= signed(at_left)
                fits = fits_right if at_right else fits_left
                chosen = sized(chosen - at_left) if at_right else chosen
                tile = drop(fits, chosen)
                _choose(rows, lane, tile, at_right)

        return finish_random

    finish_random_seven, finish_random_any = _finish_random_for(_drop_seven), _finish_random_for(_drop_any)

    @compiled()
    def finish_top(rows: Rows) -> None:
        """The heaviest of the kept placements, at the smaller end where it fits both."""
        for number in range(LANES):
            lane = uint64(number)
            left, right = rows[_LEFT + lane], rows[_RIGHT + lane]
            fits_left, fits_right = rows[_KEPT_LEFT + lane], rows[_KEPT_RIGHT + lane]
            tile = highest(sized(fits_left | fits_right))
            in_left = sized(tile & fits_left) != zero
            in_right = sized(tile & fits_right) != zero
            at_right = in_right & ((not in_left) | (signed(right) < signed(left)))
            _choose(rows, lane, tile, at_right)

    @compiled()
    def finish_random_tile(rows: Rows) -> None:
        """One of the tiles of the kept placements, uniformly, then at one of the ends that it fits."""
        for number in range(LANES):
            lane = uint64(number)
            fits_left, fits_right = rows[_KEPT_LEFT + lane], rows[_KEPT_RIGHT + lane]
            fits = sized(fits_left | fits_right)
            chosen = scaled(rows[_WORD + lane], ones(fits))
            tile = _drop_any(fits, chosen)
            in_left = sized(tile & fits_left) != zero
            in_right = sized(tile & fits_right) != zero
            # Half of the low word's range is its top bit.
            at_right = in_right & ((not in_left) | (sized(rows[_LOW_WORD + lane] & top_bit) != zero))
            _choose(rows, lane, tile, at_right)

    return Plies(
        place, choose_random_five, choose_random_seven, choose_top, fill_kept, finish_random_seven, finish_random_any,
        finish_top, finish_random_tile,
    )  # fmt: skip
