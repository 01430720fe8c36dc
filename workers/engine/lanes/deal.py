"""Deals for a list of lanes at a time: counters into a table, ten rounds of Philox over all of it, then subsets by number."""

from collections.abc import Callable
from typing import Any, Final

import numpy as np
from numba import uint32, uint64

from workers.engine import rng
from workers.engine.compile import compiled
from workers.engine.lanes.bits import deposit
from workers.engine.lanes.layout import (
    ALL,
    COLUMNS,
    COUNTER_HIGH,
    COUNTER_LOW,
    COUNTER_ROUND,
    FIRST_PAIR,
    REST,
    SECOND_PAIR,
    WIDTH,
    Rows,
    Shorts,
)
from workers.engine.lanes.subsets import BUCKET, BUCKET_BITS, LOWER, SEGMENT, START_BITS, SUBSETS, UPPER_BITS
from workers.engine.scalar.bits import ones, word
from workers.engine.scalar.layout import PLAYERS, Integers, Word, Words

_MULTIPLIER_0, _MULTIPLIER_1 = (np.uint64(multiplier) for multiplier in rng.PHILOX_MULTIPLIERS)
_WEYL_0, _WEYL_1 = (np.uint32(step) for step in rng.PHILOX_WEYL)
_PHILOX_ROUNDS: Final = rng.PHILOX_ROUNDS
_ADDRESS: Final = rng.DEAL << 16
_LOW = np.uint64(rng.MASK32)
_ROUND, _COUNTER_LOW, _COUNTER_HIGH = (np.uint64(row * WIDTH) for row in (COUNTER_ROUND, COUNTER_LOW, COUNTER_HIGH))
_REST = np.uint64(REST * WIDTH)
_IN_BUCKET = np.uint64((1 << BUCKET_BITS) - 1)
_UPPER = np.uint64((1 << UPPER_BITS) - 1)
_L = np.uint64(WIDTH)
_L2 = np.uint64(2 * WIDTH)
_L3 = np.uint64(3 * WIDTH)
_FIRST, _SECOND = np.uint64(FIRST_PAIR * WIDTH), np.uint64(SECOND_PAIR * WIDTH)


def _philox_for(pairs: int) -> Callable[..., Any]:
    @compiled()
    def philox(table: Rows, strips: int, seed: Word) -> None:
        """Philox4x32-10 of every column's counters for the first `pairs` pairs of seats; four words each into the table."""
        low, high = uint32(seed), uint32(seed >> uint64(32))
        for strip in range(strips):
            for number in range(COLUMNS):
                column = uint64(strip * COLUMNS) + uint64(number)
                for pair in range(pairs):
                    c0, c1 = uint32(_ADDRESS + pair), table[_ROUND + column]
                    c2, c3 = table[_COUNTER_LOW + column], table[_COUNTER_HIGH + column]
                    k0, k1 = low, high
                    for _ in range(_PHILOX_ROUNDS):
                        product0 = uint64(c0) * _MULTIPLIER_0
                        product1 = uint64(c2) * _MULTIPLIER_1
                        c0 = uint32(uint32(uint32(product1 >> uint64(32)) ^ c1) ^ k0)
                        c2 = uint32(uint32(uint32(product0 >> uint64(32)) ^ c3) ^ k1)
                        c1 = uint32(product1)
                        c3 = uint32(product0)
                        k0 = uint32(k0 + _WEYL_0)
                        k1 = uint32(k1 + _WEYL_1)
                    output = _FIRST + uint64(4 * pair) * _L + column
                    table[output] = c0
                    table[output + _L] = c1
                    table[output + _L2] = c2
                    table[output + _L3] = c3

    return philox


_philox, _philox_twice = _philox_for(1), _philox_for(2)


@compiled()
def deal(
    rules: Integers, hand_figures: Integers, begins: Words, before: Shorts, segments: Words, lowers: Shorts, seed: Word,
    lanes: Words, count: int, table: Rows, dealt: Rows,
) -> None:  # fmt: skip
    """Deal to the first `count` of `lanes`, whose counters stand in the work table: `dealt[seat * W + lane]` are the hands.

    The tables are those of `subsets.HandTables`.
    """
    strips = (count + COLUMNS - 1) // COLUMNS
    if rules[PLAYERS] > 2:
        _philox_twice(table, strips, seed)
    else:
        _philox(table, strips, seed)
    for number_of_seat in range(rules[PLAYERS]):
        seat = uint64(number_of_seat)
        words = (_SECOND if seat > uint64(1) else _FIRST) + (_L2 if seat & uint64(1) else uint64(0))
        hands = word(hand_figures[seat, SUBSETS])
        first_bucket, first_segment = word(hand_figures[seat, BUCKET]), word(hand_figures[seat, SEGMENT])
        for number in range(count):
            column = uint64(number)
            low, high = uint64(table[words + column]), uint64(table[words + _L + column])
            rank = (high * hands + (low * hands >> uint64(32))) >> uint64(32)
            bucket = first_bucket + (rank >> uint64(BUCKET_BITS))
            up_to_rank = (uint64(2) << (rank & _IN_BUCKET)) - uint64(1)
            segment = segments[first_segment + uint64(before[bucket]) + word(ones(begins[bucket] & up_to_rank)) - uint64(1)]
            lower = (segment >> uint64(START_BITS + UPPER_BITS)) + rank - (segment & _LOW)
            mask = ((segment >> uint64(START_BITS)) & _UPPER) << uint64(LOWER) | uint64(lowers[lower])
            rest = uint64(table[_REST + column]) if seat else uint64(ALL)
            hand = deposit(mask, rest)
            table[_REST + column] = uint32(rest ^ hand)
            dealt[seat * _L + lanes[column]] = uint32(hand)
