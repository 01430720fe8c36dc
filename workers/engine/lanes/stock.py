"""Drawing: stocks in drawing order, and the turns of those who cannot play before they have drawn.

A lane with tiles to draw has the bit DRAWABLE in its row `UNION`, and every end of a line has it too: so a line that nobody
can continue yet is not taken for blocked, and a ply needs to know nothing of stocks. Who draws, about one lane in four at a
ply, is listed, and draws tile by tile: after that the hand has the one tile that fits, or none.
"""

import numpy as np
from numba import uint8, uint32, uint64

from workers.engine import rng
from workers.engine.compile import compiled
from workers.engine.lanes.deal import ten_rounds
from workers.engine.lanes.layout import (
    ALL,
    COLUMNS,
    COUNTER_HIGH,
    COUNTER_LOW,
    COUNTER_ROUND,
    DRAWABLE,
    LANES,
    LEFT,
    MOVER,
    NEXT_OF_STOCK,
    ONE32,
    REST,
    RIGHT,
    STOCK,
    STOCK_WIDTH,
    TILES,
    UNION,
    WIDTH,
    ZERO32,
    Bytes,
    Rows,
)
from workers.engine.scalar.bits import lowest, whole, word
from workers.engine.scalar.layout import DRAW_LIMIT, DRAWING, HAND, PLAYERS, RESERVE, ZERO, Integers, Word, Words
from workers.engine.scalar.match import PASSES, PLIES

_ADDRESS = np.uint32(rng.STOCK << 16)
_ROUND, _COUNTER_LOW, _COUNTER_HIGH, _REST = (
    np.uint64(row * WIDTH) for row in (COUNTER_ROUND, COUNTER_LOW, COUNTER_HIGH, REST)
)
_MOVER, _LEFT, _RIGHT, _UNION, _STOCK = (np.uint64(row * WIDTH) for row in (MOVER, LEFT, RIGHT, UNION, STOCK))
_WIDTH = np.uint64(WIDTH)
_PLACE, _NEXT = np.uint64(STOCK_WIDTH), np.uint64(NEXT_OF_STOCK)
_ONE, _TWO, _HALF = np.uint64(1), np.uint64(2), np.uint64(32)
_NOT_DRAWABLE = np.uint32(~DRAWABLE)


@compiled()
def drawable(rules: Integers) -> int:
    """How many tiles of a stock may be drawn; 0 also where the ruleset has no drawing."""
    undealt: int = TILES - rules[PLAYERS] * rules[HAND]
    return max(ZERO, undealt - rules[RESERVE]) if rules[DRAWING] else ZERO


@compiled()
def shuffle_stocks(
    rules: Integers, seed: Word, lanes: Words, count: int, table: Rows, others: Rows, stocks: Bytes,
) -> None:  # fmt: skip
    """Order the stocks of the first `count` of `lanes` after `deal.deal` as `deal.deal_round` does, as far as they are drawn.

    `others` has a row for each step: the place that the step's tile is exchanged with.
    """
    size = TILES - rules[PLAYERS] * rules[HAND]
    steps = min(size - 1, drawable(rules))
    columns = (count + COLUMNS - 1) // COLUMNS * COLUMNS
    for pair in range((steps + 1) // 2):
        step = word(2 * pair)
        even, odd = word(size) - step, word(size) - step - _ONE
        row = step * _WIDTH
        for number in range(columns):
            column = uint64(number)
            c0, c1, c2, c3 = ten_rounds(
                uint32(_ADDRESS + uint32(pair)), table[_ROUND + column], table[_COUNTER_LOW + column],
                table[_COUNTER_HIGH + column], seed,
            )  # fmt: skip
            first = (uint64(c1) * even + (uint64(c0) * even >> _HALF)) >> _HALF
            second = (uint64(c3) * odd + (uint64(c2) * odd >> _HALF)) >> _HALF
            others[row + column] = uint32(step + first)
            others[row + _WIDTH + column] = uint32(step + _ONE + second)
    for number in range(count):
        column = uint64(number)
        place = lanes[column] * _PLACE
        rest = uint64(table[_REST + column])
        for position in range(size):
            stocks[place + uint64(position)] = uint8(lowest(rest))
            rest &= rest - _ONE
        for number_of_step in range(steps):
            step = uint64(number_of_step)
            other = place + uint64(others[step * _WIDTH + column])
            tile = stocks[place + step]
            stocks[place + step] = stocks[other]
            stocks[other] = tile
        stocks[place + _NEXT] = uint8(0)


@compiled()
def lay_stocks(rows: Rows, lanes: Words, first: Word, count: int) -> None:
    """There is something to draw in `lanes[first : first + count]`, which have just been laid out."""
    for number in range(count):
        rows[_UNION + lanes[first + uint64(number)]] |= DRAWABLE


@compiled()
def take_stocks(rows: Rows, lanes: Words, count: int) -> None:
    """There is nothing more to draw in the first `count` of `lanes`, whose rounds are over."""
    for number in range(count):
        rows[_UNION + lanes[uint64(number)]] &= _NOT_DRAWABLE


@compiled()
def mark_drawers(rows: Rows, marks: Bytes) -> None:
    """Mark the lanes whose seat to move cannot play and has something to draw."""
    for number in range(LANES):
        lane = uint64(number)
        fits = uint32(rows[_MOVER + lane] & uint32(rows[_LEFT + lane] | rows[_RIGHT + lane]))
        marks[lane] = uint8((fits == ZERO32) & (uint32(rows[_UNION + lane] & DRAWABLE) != ZERO32))


@compiled()
def draw_tiles(
    rules: Integers, rows: Rows, stocks: Bytes, passes: Integers, lanes: Words, count: int, touched: Word, step: int,
    totals: Integers,
) -> int:  # fmt: skip
    """The seats to move in the first `count` of `lanes` draw until a tile fits, or for as long as they may.

    Lanes whose round is over by that, since nobody can play or draw any more, are left at the front of `lanes`; returns how
    many. `touched` is where the seat's row of `TOUCHED` begins; `passes` has two numbers a lane: the step of the last pass
    with something to draw, and how many turns in a row had been passes by then. `totals` gets what makes the counts of
    plies and passes in `match` and `settle` right, which know nothing of drawing.
    """
    limit = word(rules[DRAW_LIMIT])
    end = word(drawable(rules))
    players = rules[PLAYERS]
    shut = uint64(0)
    drawn = uint64(0)
    for number in range(count):
        lane = lanes[uint64(number)]
        place = lane * _PLACE
        ends = uint32(rows[_LEFT + lane] | rows[_RIGHT + lane])
        begun = uint64(stocks[place + _NEXT])
        last = min(begun + limit, end)
        following = begun
        gained, fits = ZERO32, False
        while not fits and following != last:
            tile = uint32(ONE32 << uint32(stocks[place + following]))
            gained = uint32(gained | tile)
            following += _ONE
            fits = uint32(tile & ends) != ZERO32
        stocks[place + _NEXT] = uint8(following)
        drawn += following - begun
        rows[_MOVER + lane] |= gained
        rows[_STOCK + lane] &= uint32(~gained)
        union = uint32(rows[_UNION + lane] | gained)
        union = uint32(union & _NOT_DRAWABLE) if following == end else union
        rows[_UNION + lane] = union
        # What was known before is known of the old tiles only: a drawn tile that stays may be anything else.
        stayed = following - begun > (_ONE if fits else uint64(0))
        rows[touched + lane] = uint32(uint32(ends & ALL) | (ZERO32 if stayed else rows[touched + lane]))
        if not fits:
            record = lane * _TWO
            in_a_row = passes[record + _ONE] + 1 if passes[record] == step - 1 else 1
            passes[record], passes[record + _ONE] = step, in_a_row
            if uint32(union & ends) == ZERO32:
                # These passes have been turns already, and the round does not close with them again.
                totals[PLIES] -= min(in_a_row, players)
                totals[PASSES] -= min(in_a_row, players)
                lanes[shut] = lane
                shut += _ONE
    totals[PASSES] -= whole(drawn)
    return whole(shut)
