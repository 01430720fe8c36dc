"""Deals for a list of lanes at a time: counters into a table, ten rounds of Philox over all of it, then subsets by number."""

from typing import Final

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
    FOUND,
    RANK,
    REST,
    SECOND_PAIR,
    WIDTH,
)
from workers.engine.lanes.subsets import BUCKET, HALVINGS, SEGMENT, SHIFT, SUBSETS
from workers.engine.scalar.bits import word
from workers.engine.scalar.layout import PLAYERS

_MULTIPLIER_0, _MULTIPLIER_1 = (np.uint64(multiplier) for multiplier in rng.PHILOX_MULTIPLIERS)
_WEYL_0, _WEYL_1 = (np.uint32(step) for step in rng.PHILOX_WEYL)
_PHILOX_ROUNDS: Final = rng.PHILOX_ROUNDS
_LOW = np.uint64(rng.MASK32)
_ROUND, _COUNTER_LOW, _COUNTER_HIGH = (np.uint64(row * WIDTH) for row in (COUNTER_ROUND, COUNTER_LOW, COUNTER_HIGH))
_RANK, _FOUND, _REST = (np.uint64(row * WIDTH) for row in (RANK, FOUND, REST))
_L = np.uint64(WIDTH)
_L2 = np.uint64(2 * WIDTH)
_L3 = np.uint64(3 * WIDTH)
_FIRST, _SECOND = np.uint64(FIRST_PAIR * WIDTH), np.uint64(SECOND_PAIR * WIDTH)


@compiled()
def deal(rules, hand_figures, buckets, starts, uppers, lowers, masks, seed, lanes, count, table, dealt):
    """Deal to the first `count` of `lanes`, whose counters stand in the work table: `dealt[seat * W + lane]` are the hands.

    The tables are those of `subsets.HandTables`.
    """
    strips = (count + COLUMNS - 1) // COLUMNS
    _philox(table, strips, uint32(rng.DEAL << 16), _FIRST, seed)
    if rules[PLAYERS] > 2:
        _philox(table, strips, uint32(rng.DEAL << 16 | 1), _SECOND, seed)
    for seat in range(rules[PLAYERS]):
        words = (_SECOND if seat > 1 else _FIRST) + (_L2 if seat % 2 else uint64(0))
        total, shift = word(hand_figures[seat, SUBSETS]), uint32(hand_figures[seat, SHIFT])
        bucket, segment = word(hand_figures[seat, BUCKET]), word(hand_figures[seat, SEGMENT])
        # Short loops over the list, so that the look-ups of many lanes are under way at the same time.
        for number in range(count):
            position = uint64(number)
            low, high = uint64(table[words + position]), uint64(table[words + _L + position])
            rank = (high * total + (low * total >> uint64(32))) >> uint64(32)
            table[_RANK + position] = uint32(rank)
            table[_FOUND + position] = buckets[bucket + (rank >> shift)]
        for halving in range(hand_figures[seat, HALVINGS] - 1, -1, -1):
            stride = uint32(1) << uint32(halving)
            for number in range(count):
                position = uint64(number)
                found = table[_FOUND + position]
                further = uint32(found + stride)
                table[_FOUND + position] = (
                    further if starts[segment + uint64(further)] <= table[_RANK + position] else found
                )
        for number in range(count):
            position = uint64(number)
            found = segment + uint64(table[_FOUND + position])
            lower = uint64(lowers[found]) + uint64(uint32(table[_RANK + position] - starts[found]))
            mask = uint64(uppers[found]) | uint64(masks[lower])
            rest = uint64(table[_REST + position]) if seat else uint64(ALL)
            hand = deposit(mask, rest)
            table[_REST + position] = uint32(rest ^ hand)
            dealt[uint64(seat * WIDTH) + uint64(lanes[number])] = uint32(hand)


@compiled()
def _philox(table, strips, address, output, seed):
    """Philox4x32-10 of every position's counters, with this first counter; four words each from row `output` on."""
    low, high = uint32(seed), uint32(seed >> uint64(32))
    for strip in range(strips):
        for number in range(COLUMNS):
            position = uint64(strip * COLUMNS) + uint64(number)
            c0, c1 = address, table[_ROUND + position]
            c2, c3 = table[_COUNTER_LOW + position], table[_COUNTER_HIGH + position]
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
            table[output + position] = c0
            table[output + _L + position] = c1
            table[output + _L2 + position] = c2
            table[output + _L3 + position] = c3
