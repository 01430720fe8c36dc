"""Drawing: stocks in drawing order, and the turns of those who cannot play before they have drawn.

A lane with tiles to draw has the bit DRAWABLE in its row `UNION`, and every end of a line has it too: so a line that nobody
can continue yet is not taken for blocked, and a ply needs to know nothing of stocks. Who draws, about one lane in four at a
ply, is listed, and draws tile by tile: after that the hand has the one tile that fits, or none.
"""

from collections.abc import Callable
from typing import Final, NamedTuple

import numpy as np
from numba import uint8, uint16, uint64

from workers.engine import rng
from workers.engine.compile import compiled
from workers.engine.lanes.deal import draw_places
from workers.engine.lanes.layout import (
    COLUMNS,
    LANES,
    LEFT,
    MOVER,
    NEXT_OF_STOCK,
    REST,
    RIGHT,
    STOCK,
    STOCK_WIDTH,
    UNION,
    WIDTH,
    Bytes,
    Masks,
    Rows,
    Shorts,
)
from workers.engine.scalar.bits import lowest, whole, word
from workers.engine.scalar.layout import DRAW_LIMIT, DRAWING, HAND, PLAYERS, RESERVE, ZERO, Integers, Word, Words
from workers.engine.scalar.match import PASSES, PLIES

_ADDRESS: Final = rng.STOCK << 16
_REST = np.uint64(REST * WIDTH)
_MOVER, _LEFT, _RIGHT, _UNION, _STOCK = (np.uint64(row * WIDTH) for row in (MOVER, LEFT, RIGHT, UNION, STOCK))
_WIDTH = np.uint64(WIDTH)
_PLACE, _NEXT = np.uint64(STOCK_WIDTH), np.uint64(NEXT_OF_STOCK)
_ONE, _TWO = np.uint64(1), np.uint64(2)


class Stocks(NamedTuple):
    """Drawing from one set of tiles."""

    drawable: Callable[..., int]
    shuffle_stocks: Callable[..., None]
    lay_stocks: Callable[..., None]
    take_stocks: Callable[..., None]
    mark_drawers: Callable[..., None]
    draw_tiles: Callable[..., int]


def stocks_of(masks: Masks) -> Stocks:
    """The functions that depend on the set."""
    sized, zero, one_bit = masks.sized, masks.number(0), masks.number(1)
    everything, tiles = masks.all, masks.tiles
    to_draw_mark, not_drawable = masks.drawable, ~masks.drawable

    @compiled()
    def drawable(rules: Integers) -> int:
        """How many tiles of a stock may be drawn; 0 also where the ruleset has no drawing."""
        undealt: int = tiles - rules[PLAYERS] * rules[HAND]
        return max(ZERO, undealt - rules[RESERVE]) if rules[DRAWING] else ZERO

    @compiled()
    def shuffle_stocks(
        rules: Integers, seed: Word, lanes: Words, count: int, table: Rows, others: Rows, stocks: Bytes,
    ) -> None:  # fmt: skip
        """Order the stocks of the first `count` of `lanes` after `deal.deal` as `deal.deal_round` does, as far as needed.

        `others` has a row for each step: the place that the step's tile is exchanged with.
        """
        size = tiles - rules[PLAYERS] * rules[HAND]
        steps = min(size - 1, drawable(rules))
        columns = (count + COLUMNS - 1) // COLUMNS * COLUMNS
        draw_places(table, columns, seed, _ADDRESS, size, steps, others)
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
            rows[_UNION + lanes[first + uint64(number)]] |= to_draw_mark

    @compiled()
    def take_stocks(rows: Rows, lanes: Shorts, count: int) -> None:
        """There is nothing more to draw in the first `count` of `lanes`, whose rounds are over."""
        for number in range(count):
            rows[_UNION + uint64(lanes[uint64(number)])] &= not_drawable

    @compiled()
    def mark_drawers(rows: Rows, marks: Bytes) -> None:
        """Mark the lanes whose seat to move cannot play and has something to draw."""
        for number in range(LANES):
            lane = uint64(number)
            fits = sized(rows[_MOVER + lane] & sized(rows[_LEFT + lane] | rows[_RIGHT + lane]))
            marks[lane] = uint8((fits == zero) & (sized(rows[_UNION + lane] & to_draw_mark) != zero))

    @compiled()
    def draw_tiles(
        rules: Integers, rows: Rows, stocks: Bytes, passes: Integers, lanes: Shorts, count: int, touched: Word, step: int,
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
            lane = uint64(lanes[uint64(number)])
            place = lane * _PLACE
            ends = sized(rows[_LEFT + lane] | rows[_RIGHT + lane])
            begun = uint64(stocks[place + _NEXT])
            last = min(begun + limit, end)
            following = begun
            gained, fits = zero, False
            while not fits and following != last:
                tile = sized(one_bit << sized(stocks[place + following]))
                gained = sized(gained | tile)
                following += _ONE
                fits = sized(tile & ends) != zero
            stocks[place + _NEXT] = uint8(following)
            drawn += following - begun
            rows[_MOVER + lane] |= gained
            rows[_STOCK + lane] &= sized(~gained)
            union = sized(rows[_UNION + lane] | gained)
            union = sized(union & not_drawable) if following == end else union
            rows[_UNION + lane] = union
            # What was known before is known of the old tiles only: a drawn tile that stays may be anything else.
            stayed = following - begun > (_ONE if fits else uint64(0))
            rows[touched + lane] = sized(sized(ends & everything) | (zero if stayed else rows[touched + lane]))
            if not fits:
                record = lane * _TWO
                in_a_row = passes[record + _ONE] + 1 if passes[record] == step - 1 else 1
                passes[record], passes[record + _ONE] = step, in_a_row
                if sized(union & ends) == zero:
                    # These passes have been turns already, and the round does not close with them again.
                    totals[PLIES] -= min(in_a_row, players)
                    totals[PASSES] -= min(in_a_row, players)
                    lanes[shut] = uint16(lane)
                    shut += _ONE
        totals[PASSES] -= whole(drawn)
        return whole(shut)

    return Stocks(
        drawable, shuffle_stocks, lay_stocks, take_stocks, mark_drawers, draw_tiles,
    )  # fmt: skip
