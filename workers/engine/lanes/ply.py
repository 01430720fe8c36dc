"""One ply of every lane: random words, the finishes of policies, and what a placement does to the position.

Each function is one loop over all lanes without branches. A lane whose seat cannot play, or that waits for its next round
with empty hands, goes through the same motions with an empty placement, which changes nothing.
"""

from collections.abc import Callable
from typing import Any

import numpy as np
from numba import int32, uint8, uint32, uint64

from workers.engine import rng
from workers.engine.compile import compiled
from workers.engine.lanes.bits import highest32, lowest32, ones32, scaled32, signed, where
from workers.engine.lanes.layout import (
    CROSSINGS,
    KEPT_LEFT,
    KEPT_RIGHT,
    LANES,
    LEFT,
    LOW_WORD,
    MOVER,
    ONE32,
    RIGHT,
    SUITS,
    UNION,
    WIDTH,
    WORD,
    ZERO32,
    Bits,
    Bytes,
    Rows,
)
from workers.engine.scalar.layout import Word, Words
from workers.engine.scalar.random import mix64

_TURN = np.uint64(rng.SEATS_PER_NUMBER * rng.GAMMA & rng.MASK64)
"""From a seat's decision to its next one."""
_L = np.uint64(LANES)
_MOVER, _LEFT, _RIGHT, _UNION, _WORD, _LOW_WORD, _KEPT_LEFT, _KEPT_RIGHT = (
    np.uint64(row * WIDTH) for row in (MOVER, LEFT, RIGHT, UNION, WORD, LOW_WORD, KEPT_LEFT, KEPT_RIGHT)
)
_, _C1, _C2, _C3, _C4, _C5, _C6 = CROSSINGS
_X1, _X2, _X3, _X4, _X5, _X6 = (np.uint32(SUITS[0] ^ suit) for suit in SUITS[1:])


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
        rows[target + lane] = uint32(rows[target + lane] | rows[source + lane])


@compiled()
def draw_words(rows: Rows, addresses: Words, first: Word) -> None:
    """The random word of each lane's seat to move into `WORD`; `addresses[first:]` are theirs and move on to the next turn."""
    for number in range(LANES):
        lane = uint64(number)
        address = addresses[first + lane]
        addresses[first + lane] = address + _TURN
        rows[_WORD + lane] = uint32(mix64(address) >> uint64(32))


@compiled()
def draw_long_words(rows: Rows, addresses: Words, first: Word) -> None:
    """The same with the low half into `LOW_WORD`."""
    for number in range(LANES):
        lane = uint64(number)
        address = addresses[first + lane]
        addresses[first + lane] = address + _TURN
        bits = mix64(address)
        rows[_WORD + lane] = uint32(bits >> uint64(32))
        rows[_LOW_WORD + lane] = uint32(bits)


@compiled(inline=True)
def crossing(tile: Bits) -> Bits:
    """The suits of a tile's two halves, without what they share; nothing for a double, which leads to its own value.

    Each value but 0 brings its own suit and that of 0, so that a tile with two of them is rid of the suit of 0 again.
    """
    suits = where(tile, _C1, _X1)
    suits = uint32(suits ^ where(tile, _C2, _X2))
    suits = uint32(suits ^ where(tile, _C3, _X3))
    suits = uint32(suits ^ where(tile, _C4, _X4))
    suits = uint32(suits ^ where(tile, _C5, _X5))
    return uint32(suits ^ where(tile, _C6, _X6))


@compiled(inline=True)
def _less(bits: Bits, chosen: Bits, number: int) -> Bits:
    """Without the lowest set bit, if more than `number` are to be dropped. (Less nothing or one, then cut down.)"""
    return uint32(bits & uint32(bits - (ONE32 if signed(chosen) > int32(number) else ZERO32)))


# Written out: with a loop inside, the first lane is taken out of the loop over lanes and the rest no longer fills vectors.


@compiled(inline=True)
def _drop_five(bits: Bits, chosen: Bits) -> Bits:
    bits = _less(_less(_less(_less(bits, chosen, 0), chosen, 1), chosen, 2), chosen, 3)
    return lowest32(bits)


@compiled(inline=True)
def _drop_seven(bits: Bits, chosen: Bits) -> Bits:
    bits = _less(_less(_less(_less(bits, chosen, 0), chosen, 1), chosen, 2), chosen, 3)
    return lowest32(_less(_less(bits, chosen, 4), chosen, 5))


@compiled(inline=True)
def _drop_any(bits: Bits, chosen: Bits) -> Bits:
    bits = _less(_less(_less(_less(bits, chosen, 0), chosen, 1), chosen, 2), chosen, 3)
    bits = _less(_less(_less(_less(bits, chosen, 4), chosen, 5), chosen, 6), chosen, 7)
    bits = _less(_less(_less(_less(bits, chosen, 8), chosen, 9), chosen, 10), chosen, 11)
    return lowest32(_less(bits, chosen, 12))


@compiled(inline=True)
def _place(rows: Rows, ended: Bytes, lane: Word, hand: Bits, left: Bits, right: Bits, tile: Bits, at_right: bool) -> None:
    """Place a tile (or nothing) and mark in `ended` whether the round ends with it: the hand is empty, or nobody can play.

    A line that nobody can continue is known as soon as it is there; the passes that follow are only counted.
    """
    suits = crossing(tile)
    left = left if at_right else uint32(left ^ suits)
    right = uint32(right ^ suits) if at_right else right
    hand = uint32(hand ^ tile)
    union = uint32(rows[_UNION + lane] ^ tile)
    rows[_MOVER + lane] = hand
    rows[_UNION + lane] = union
    rows[_LEFT + lane] = left
    rows[_RIGHT + lane] = right
    over = (hand == ZERO32) | (uint32(union & uint32(left | right)) == ZERO32)
    ended[lane] = uint8((tile != ZERO32) & over)


def _random_ply_for(drop: Callable[[Bits, Bits], Bits]) -> Callable[..., Any]:
    @compiled()
    def play_random(rows: Rows, ended: Bytes) -> None:
        """A ply of policies that play uniformly over all placements, for hands as large as `drop` takes."""
        for number in range(LANES):
            lane = uint64(number)
            hand, left, right = rows[_MOVER + lane], rows[_LEFT + lane], rows[_RIGHT + lane]
            fits_left = uint32(hand & left)
            fits_right = uint32(hand & right) if left != right else ZERO32
            at_left = ones32(fits_left)
            chosen = scaled32(rows[_WORD + lane], uint32(at_left + ones32(fits_right)))
            at_right = signed(chosen) >= signed(at_left)
            fits = fits_right if at_right else fits_left
            chosen = uint32(chosen - at_left) if at_right else chosen
            _place(rows, ended, lane, hand, left, right, drop(fits, chosen), at_right)

    return play_random


play_random_five, play_random_seven = _random_ply_for(_drop_five), _random_ply_for(_drop_seven)


@compiled()
def play_top(rows: Rows, ended: Bytes) -> None:
    """A ply of policies that play the heaviest tile, at the smaller end where it fits both."""
    for number in range(LANES):
        lane = uint64(number)
        hand, left, right = rows[_MOVER + lane], rows[_LEFT + lane], rows[_RIGHT + lane]
        tile = highest32(uint32(hand & uint32(left | right)))
        in_left = uint32(tile & left) != ZERO32
        in_right = uint32(tile & right) != ZERO32
        # Suits compare as their values do: the highest tile of each is the one with a six.
        at_right = in_right & ((not in_left) | (signed(right) < signed(left)))
        _place(rows, ended, lane, hand, left, right, tile, at_right)


@compiled()
def fill_kept(rows: Rows) -> None:
    """All placements of each lane's seat to move into `KEPT_LEFT` and `KEPT_RIGHT`."""
    for number in range(LANES):
        lane = uint64(number)
        hand, left, right = rows[_MOVER + lane], rows[_LEFT + lane], rows[_RIGHT + lane]
        rows[_KEPT_LEFT + lane] = uint32(hand & left)
        rows[_KEPT_RIGHT + lane] = uint32(hand & right) if left != right else ZERO32


def _finish_random_for(drop: Callable[[Bits, Bits], Bits]) -> Callable[..., Any]:
    @compiled()
    def finish_random(rows: Rows, ended: Bytes) -> None:
        """Place one of the kept placements, uniformly."""
        for number in range(LANES):
            lane = uint64(number)
            fits_left, fits_right = rows[_KEPT_LEFT + lane], rows[_KEPT_RIGHT + lane]
            at_left = ones32(fits_left)
            chosen = scaled32(rows[_WORD + lane], uint32(at_left + ones32(fits_right)))
            at_right = signed(chosen) >= signed(at_left)
            fits = fits_right if at_right else fits_left
            chosen = uint32(chosen - at_left) if at_right else chosen
            tile = drop(fits, chosen)
            _place(rows, ended, lane, rows[_MOVER + lane], rows[_LEFT + lane], rows[_RIGHT + lane], tile, at_right)

    return finish_random


finish_random_seven, finish_random_any = _finish_random_for(_drop_seven), _finish_random_for(_drop_any)


@compiled()
def finish_top(rows: Rows, ended: Bytes) -> None:
    """Place the heaviest of the kept placements, at the smaller end where it fits both."""
    for number in range(LANES):
        lane = uint64(number)
        left, right = rows[_LEFT + lane], rows[_RIGHT + lane]
        fits_left, fits_right = rows[_KEPT_LEFT + lane], rows[_KEPT_RIGHT + lane]
        tile = highest32(uint32(fits_left | fits_right))
        in_left = uint32(tile & fits_left) != ZERO32
        in_right = uint32(tile & fits_right) != ZERO32
        at_right = in_right & ((not in_left) | (signed(right) < signed(left)))
        _place(rows, ended, lane, rows[_MOVER + lane], left, right, tile, at_right)


@compiled()
def finish_random_tile(rows: Rows, ended: Bytes) -> None:
    """Place one of the tiles of the kept placements, uniformly, then at one of the ends that it fits."""
    for number in range(LANES):
        lane = uint64(number)
        fits_left, fits_right = rows[_KEPT_LEFT + lane], rows[_KEPT_RIGHT + lane]
        fits = uint32(fits_left | fits_right)
        chosen = scaled32(rows[_WORD + lane], ones32(fits))
        tile = _drop_any(fits, chosen)
        in_left = uint32(tile & fits_left) != ZERO32
        in_right = uint32(tile & fits_right) != ZERO32
        # Half of the low word's range is its top bit.
        at_right = in_right & ((not in_left) | (signed(rows[_LOW_WORD + lane]) < int32(0)))
        _place(rows, ended, lane, rows[_MOVER + lane], rows[_LEFT + lane], rows[_RIGHT + lane], tile, at_right)
