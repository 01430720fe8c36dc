"""Deals for a list of lanes at a time: counters into a table, ten rounds of Philox over all of it, then subsets by number."""

from collections.abc import Callable
from typing import Final

import numpy as np
from numba import uint32, uint64

from workers.engine import rng
from workers.engine.compile import compiled
from workers.engine.lanes.bits import deposit
from workers.engine.lanes.layout import (
    COLUMNS,
    COUNTER_HIGH,
    COUNTER_LOW,
    COUNTER_ROUND,
    FIRST_PAIR,
    LANES,
    MAX_SEATS,
    REST,
    SECOND_PAIR,
    STOCK_WIDTH,
    WIDTH,
    Bytes,
    Half,
    Masks,
    Rows,
    Shorts,
)
from workers.engine.lanes.subsets import BUCKET, BUCKET_BITS, SEGMENT, SUBSETS, UPPER_SHIFT
from workers.engine.scalar.bits import ones, word
from workers.engine.scalar.layout import HAND, PLAYERS, Integers, Word, Words
from workers.engine.scalar.random import mix64

_MULTIPLIER_0, _MULTIPLIER_1 = (np.uint64(multiplier) for multiplier in rng.PHILOX_MULTIPLIERS)
_WEYL_0, _WEYL_1 = (np.uint32(step) for step in rng.PHILOX_WEYL)
_PHILOX_ROUNDS: Final = rng.PHILOX_ROUNDS
_ADDRESS: Final = rng.DEAL << 16
_LOT_ADDRESS = np.uint32(rng.LOT << 16)
_NO_ROUND = np.uint32(0)
_GAMMA = np.uint64(rng.GAMMA)
_LANES = np.uint64(LANES)
_ONE, _HALF = np.uint64(1), np.uint64(32)
_PLACE = np.uint64(STOCK_WIDTH)
_ROUND, _COUNTER_LOW, _COUNTER_HIGH = (np.uint64(row * WIDTH) for row in (COUNTER_ROUND, COUNTER_LOW, COUNTER_HIGH))
_REST = np.uint64(REST * WIDTH)
_SEATS = np.uint64(MAX_SEATS)
_IN_BUCKET = np.uint64((1 << BUCKET_BITS) - 1)
_L = np.uint64(WIDTH)
_L2 = np.uint64(2 * WIDTH)
_L3 = np.uint64(3 * WIDTH)
_FIRST, _SECOND = np.uint64(FIRST_PAIR * WIDTH), np.uint64(SECOND_PAIR * WIDTH)


@compiled(inline=True)
def _ten_rounds(c0: Half, c1: Half, c2: Half, c3: Half, seed: Word) -> tuple[Half, Half, Half, Half]:
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
        c0, c1, c2, c3 = _ten_rounds(
            uint32(_ADDRESS + pair), uint32(table[_ROUND + column]), uint32(table[_COUNTER_LOW + column]),
            uint32(table[_COUNTER_HIGH + column]), seed,
        )  # fmt: skip
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
        low, high, _, _ = _ten_rounds(_LOT_ADDRESS, _NO_ROUND, uint32(block), uint32(block >> uint64(32)), seed)
        lots[column] = (uint64(high) * players + (uint64(low) * players >> uint64(32))) >> uint64(32)
        lots[_LANES + column] = mix64(start + block * _GAMMA)


@compiled()
def draw_places(table: Rows, columns: int, seed: Word, address: int, size: int, steps: int, others: Rows) -> None:
    """For the counters of the first `columns` columns the steps of a shuffle of `size` tiles: a row of `others` for each, which
    says at what place the tile stands that goes to the place with the step's number. A row more may be written.

    `address` is the stream's in `rng`'s layout.
    """
    for pair in range((steps + 1) // 2):
        step = word(2 * pair)
        even, odd = word(size) - step, word(size) - step - _ONE
        row = step * _L
        for number in range(columns):
            column = uint64(number)
            c0, c1, c2, c3 = _ten_rounds(
                uint32(address + pair), uint32(table[_ROUND + column]), uint32(table[_COUNTER_LOW + column]),
                uint32(table[_COUNTER_HIGH + column]), seed,
            )  # fmt: skip
            first = (uint64(c1) * even + (uint64(c0) * even >> _HALF)) >> _HALF
            second = (uint64(c3) * odd + (uint64(c2) * odd >> _HALF)) >> _HALF
            others[row + column] = step + first
            others[row + _L + column] = step + _ONE + second


def deal_for(masks: Masks) -> Callable[..., None]:
    """`deal.deal_round` for this set: hands by number on double-six, else from a shuffle."""
    everything, tiles = np.uint64(masks.all), masks.tiles

    @compiled(inline=True)
    def deal_by_number(
        rules: Integers, hand_figures: Integers, begins: Words, before: Shorts, segments: Words, lowers: Shorts, seed: Word,
        lanes: Words, count: int, table: Rows, dealt: Rows, others: Rows, stocks: Bytes,  # noqa: ARG001
    ) -> None:  # fmt: skip
        """Deal to the first `count` of `lanes`, whose counters stand in the work table: `dealt[lane * MAX_SEATS + seat]` are
        the hands.

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
            first_bucket, first_segment = word(hand_figures[seat, BUCKET]), word(hand_figures[seat, SEGMENT]) - uint64(1)
            for number in range(count):
                column = uint64(number)
                low, high = uint64(table[words + column]), uint64(table[words + _L + column])
                rank = (high * hands + (low * hands >> uint64(32))) >> uint64(32)
                bucket = first_bucket + (rank >> uint64(BUCKET_BITS))
                begun = begins[bucket] << (~rank & _IN_BUCKET)
                segment = segments[first_segment + uint64(before[bucket]) + word(ones(begun))]
                lower = uint64(uint32(segment + rank))
                mask = segment >> uint64(UPPER_SHIFT) | uint64(lowers[lower])
                rest = uint64(table[_REST + column]) if seat else everything
                hand = deposit(mask, rest)
                table[_REST + column] = rest ^ hand
                dealt[lanes[column] * _SEATS + seat] = hand

    @compiled(inline=True)
    def deal_by_shuffle(
        rules: Integers, hand_figures: Integers, begins: Words, before: Shorts, segments: Words, lowers: Shorts,  # noqa: ARG001
        seed: Word, lanes: Words, count: int, table: Rows, dealt: Rows, others: Rows, stocks: Bytes,
    ) -> None:  # fmt: skip
        """The same from the front of a shuffle of the whole set; `others` and `stocks` are room for it."""
        hand = rules[HAND]
        steps = rules[PLAYERS] * hand
        draw_places(table, (count + COLUMNS - 1) // COLUMNS * COLUMNS, seed, _ADDRESS, tiles, steps, others)
        for number in range(count):
            column = uint64(number)
            lane = lanes[column]
            place = lane * _PLACE
            for tile in range(tiles):
                stocks[place + uint64(tile)] = tile
            rest, step = everything, uint64(0)
            for number_of_seat in range(rules[PLAYERS]):
                dealt_tiles = uint64(0)
                for _ in range(hand):
                    other = place + uint64(others[step * _L + column])
                    dealt_tiles |= _ONE << uint64(stocks[other])
                    # What is dealt is looked at no more.
                    stocks[other] = stocks[place + step]
                    step += _ONE
                dealt[lane * _SEATS + uint64(number_of_seat)] = dealt_tiles
                rest ^= dealt_tiles
            table[_REST + column] = rest

    return deal_by_shuffle if masks.is_wide else deal_by_number
