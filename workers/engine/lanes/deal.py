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
    LANES,
    REST,
    SECOND_PAIR,
    WIDTH,
    ZERO32,
    Bits,
    Rows,
    Shorts,
)
from workers.engine.lanes.subsets import BUCKET, BUCKET_BITS, LOWER, SEGMENT, START_BITS, SUBSETS, UPPER_BITS
from workers.engine.scalar.bits import ones, word
from workers.engine.scalar.layout import PLAYERS, Integers, Word, Words
from workers.engine.scalar.random import mix64

_MULTIPLIER_0, _MULTIPLIER_1 = (np.uint64(multiplier) for multiplier in rng.PHILOX_MULTIPLIERS)
_WEYL_0, _WEYL_1 = (np.uint32(step) for step in rng.PHILOX_WEYL)
_PHILOX_ROUNDS: Final = rng.PHILOX_ROUNDS
_ADDRESS: Final = rng.DEAL << 16
_LOT_ADDRESS = np.uint32(rng.LOT << 16)
_GAMMA = np.uint64(rng.GAMMA)
_LANES = np.uint64(LANES)
_LOW = np.uint64(rng.MASK32)
_ROUND, _COUNTER_LOW, _COUNTER_HIGH = (np.uint64(row * WIDTH) for row in (COUNTER_ROUND, COUNTER_LOW, COUNTER_HIGH))
_REST = np.uint64(REST * WIDTH)
_IN_BUCKET = np.uint64((1 << BUCKET_BITS) - 1)
_UPPER = np.uint64((1 << UPPER_BITS) - 1)
_L = np.uint64(WIDTH)
_L2 = np.uint64(2 * WIDTH)
_L3 = np.uint64(3 * WIDTH)
_FIRST, _SECOND = np.uint64(FIRST_PAIR * WIDTH), np.uint64(SECOND_PAIR * WIDTH)


@compiled(inline=True)
def ten_rounds(c0: Bits, c1: Bits, c2: Bits, c3: Bits, seed: Word) -> tuple[Bits, Bits, Bits, Bits]:
    """`rng.philox4x32` under a seed's key."""
    k0, k1 = uint32(seed), uint32(seed >> uint64(32))
    for _ in range(_PHILOX_ROUNDS):
        product0 = uint64(c0) * _MULTIPLIER_0
        product1 = uint64(c2) * _MULTIPLIER_1
        c0 = uint32(uint32(uint32(product1 >> uint64(32)) ^ c1) ^ k0)
        c2 = uint32(uint32(uint32(product0 >> uint64(32)) ^ c3) ^ k1)
        c1 = uint32(product1)
        c3 = uint32(product0)
        k0 = uint32(k0 + _WEYL_0)
        k1 = uint32(k1 + _WEYL_1)
    return c0, c1, c2, c3


@compiled()
def _philox(table: Rows, columns: int, seed: Word, pair: int) -> None:
    """Philox4x32-10 of the counters of the first `columns` columns for a pair of seats; four words each into the table."""
    first = _SECOND if pair else _FIRST
    for number in range(columns):
        column = uint64(number)
        c0, c1, c2, c3 = ten_rounds(
            uint32(_ADDRESS + pair), table[_ROUND + column], table[_COUNTER_LOW + column], table[_COUNTER_HIGH + column], seed
        )
        table[first + column] = c0
        table[first + _L + column] = c1
        table[first + _L2 + column] = c2
        table[first + _L3 + column] = c3


@compiled()
def draw_lots(rules: Integers, seed: Word, first_block: Word, lots: Words) -> None:
    """For as many blocks as there are lanes, from `first_block` on: the first leader by lot, and then as many `block_base`."""
    players = uint64(rules[PLAYERS])
    start = mix64(seed)
    for number in range(LANES):
        column = uint64(number)
        block = first_block + column
        low, high, _, _ = ten_rounds(_LOT_ADDRESS, ZERO32, uint32(block), uint32(block >> uint64(32)), seed)
        lots[column] = (uint64(high) * players + (uint64(low) * players >> uint64(32))) >> uint64(32)
        lots[_LANES + column] = mix64(start + block * _GAMMA)


@compiled()
def deal(
    rules: Integers, hand_figures: Integers, begins: Words, before: Shorts, segments: Words, lowers: Shorts, seed: Word,
    lanes: Words, count: int, table: Rows, dealt: Rows,
) -> None:  # fmt: skip
    """Deal to the first `count` of `lanes`, whose counters stand in the work table: `dealt[seat * W + lane]` are the hands.

    The tables are those of `subsets.HandTables`.
    """
    columns = (count + COLUMNS - 1) // COLUMNS * COLUMNS
    _philox(table, columns, seed, 0)
    if rules[PLAYERS] > 2:
        _philox(table, columns, seed, 1)
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
