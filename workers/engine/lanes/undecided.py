"""Lanes whose seat still has a choice, brought together in columns of the work table and back.

At 2 players they are two in five or fewer, so that a costly preference is counted for these alone.
"""

from collections.abc import Callable
from typing import NamedTuple

import numpy as np
from numba import uint8, uint64

from workers.engine.compile import compiled
from workers.engine.lanes.bits import operations
from workers.engine.lanes.gather import can_pack, gather, marked, order_of, pack, ranks_of, unpack
from workers.engine.lanes.layout import (
    KEPT_LEFT,
    KEPT_RIGHT,
    LANES,
    LEFT,
    MARKS,
    MOVER,
    ORDERED,
    ORDERED_PIPS,
    RIGHT,
    STOCK,
    UNION,
    WIDTH,
    Bytes,
    Masks,
    Rows,
    Shorts,
)
from workers.engine.scalar.bits import ones, whole, word
from workers.engine.scalar.layout import Word, Words

_MOVER, _LEFT, _RIGHT, _UNION, _STOCK, _KEPT_LEFT, _KEPT_RIGHT = (
    np.uint64(row * WIDTH) for row in (MOVER, LEFT, RIGHT, UNION, STOCK, KEPT_LEFT, KEPT_RIGHT)
)
# Rows of the work table that nobody needs at this time.
KEPT, OTHER_KEPT, AT_LEFT, AT_RIGHT = (np.uint64((ORDERED + row) * WIDTH) for row in range(4))
"""Where the columns of what is kept and of the ends begin."""
COUNTED, HAND, _UNSEEN = (np.uint64((ORDERED_PIPS + row) * WIDTH) for row in range(3))
"""Where those of the tiles that are counted begin, those of hands, and by lane the unseen tiles."""
_MARKS = np.uint64(MARKS)


class Undecided(NamedTuple):
    """The functions for one set of tiles."""

    bring_for: Callable[[bool, bool], Callable[..., int]]
    """By whether the own tiles are counted or those that the seat to move has not seen, and whether `double` or
    `fewest_double` is all that came before: brings lanes together of lines that have begun in which more than doubles can be
    chosen.

    Between doubles there is no choice for a preference about ends: they leave the ends as they are. After such a first
    preference all other tiles that fit are kept, so that the hand says it. The function takes the rows, the work table, room
    for marks as words and the same as bytes, and room for a list of lanes; it returns how many columns it filled.
    """
    put_back: Callable[..., None]
    """What is kept in columns back to their lanes: takes the same but the bytes, and the number of columns."""


def undecided_of(masks: Masks) -> Undecided:
    """The functions that depend on the set."""
    is_wide, sized, zero, one_bit = masks.is_wide, masks.sized, masks.number(0), masks.number(1)
    signed, none = operations(masks).signed, masks.whole(0)
    everything, not_doubles = masks.all, masks.all & ~masks.doubles

    @compiled()
    def mark(rows: Rows, marks: Bytes) -> None:
        for number in range(LANES):
            lane = uint64(number)
            left, right = rows[_KEPT_LEFT + lane], rows[_KEPT_RIGHT + lane]
            more = sized(sized(left & sized(left - one_bit)) | sized(right & sized(right - one_bit)))
            several = (more != zero) | ((left != zero) & (right != zero))
            moves = sized(sized(left | right) & not_doubles) != zero
            marks[lane] = uint8(several & moves & (signed(rows[_LEFT + lane]) >= none))

    def bring_listed_for(own: bool, after_double: bool) -> Callable[..., int]:
        @compiled(inline=True)
        def bring_listed(rows: Rows, counted: Rows, first: Word, table: Rows, marks: Words, lanes: Shorts) -> int:
            """What a pass needs of the marked lanes; the row of tiles that are counted begins at `counted[first]`."""
            count = gather(marks, lanes)
            for number in range(count):
                column = uint64(number)
                lane = uint64(lanes[column])
                table[COUNTED + column] = counted[first + lane]
                table[AT_LEFT + column] = rows[_LEFT + lane]
                table[AT_RIGHT + column] = rows[_RIGHT + lane]
                if not after_double:
                    table[KEPT + column] = rows[_KEPT_LEFT + lane]
                    table[OTHER_KEPT + column] = rows[_KEPT_RIGHT + lane]
                elif not own:
                    table[HAND + column] = rows[_MOVER + lane]
            return count

        return bring_listed

    def bring_packed_for(own: bool, after_double: bool) -> Callable[..., int]:
        @compiled(inline=True)
        def bring_packed(rows: Rows, counted: Rows, first: Word, table: Rows, marks: Words, _lanes: Shorts) -> int:
            """The same as `bring_listed`, eight lanes at a time."""
            column = uint64(0)
            for number in range(LANES // MARKS):
                group = uint64(number)
                lane = group * _MARKS
                bits = marked(marks, group)
                order = order_of(bits)
                pack(counted, first + lane, order, table, COUNTED + column)
                pack(rows, _LEFT + lane, order, table, AT_LEFT + column)
                pack(rows, _RIGHT + lane, order, table, AT_RIGHT + column)
                if not after_double:
                    pack(rows, _KEPT_LEFT + lane, order, table, KEPT + column)
                    pack(rows, _KEPT_RIGHT + lane, order, table, OTHER_KEPT + column)
                elif not own:
                    pack(rows, _MOVER + lane, order, table, HAND + column)
                column += word(ones(bits))
            return whole(column)

        return bring_packed

    @compiled(inline=True)
    def put_back_listed(rows: Rows, table: Rows, _marks: Words, lanes: Shorts, count: int) -> None:
        for number in range(count):
            column = uint64(number)
            lane = uint64(lanes[column])
            rows[_KEPT_LEFT + lane] = table[KEPT + column]
            rows[_KEPT_RIGHT + lane] = table[OTHER_KEPT + column]

    @compiled(inline=True)
    def put_back_packed(rows: Rows, table: Rows, marks: Words, _lanes: Shorts, _count: int) -> None:
        """The same as `put_back_listed`, eight lanes at a time."""
        column = uint64(0)
        for number in range(LANES // MARKS):
            group = uint64(number)
            lane = group * _MARKS
            bits = marked(marks, group)
            ranks = ranks_of(bits)
            unpack(table, KEPT + column, ranks, rows, _KEPT_LEFT + lane)
            unpack(table, OTHER_KEPT + column, ranks, rows, _KEPT_RIGHT + lane)
            column += word(ones(bits))

    packs = not is_wide and can_pack()

    def bring_for(own: bool, after_double: bool) -> Callable[..., int]:
        bring = (bring_packed_for if packs else bring_listed_for)(own, after_double)

        @compiled(inline=True)
        def bring_own(rows: Rows, table: Rows, marks: Words, ended: Bytes, lanes: Shorts) -> int:
            mark(rows, ended)
            return bring(rows, rows, _MOVER, table, marks, lanes)

        @compiled(inline=True)
        def bring_unseen(rows: Rows, table: Rows, marks: Words, ended: Bytes, lanes: Shorts) -> int:
            mark(rows, ended)
            for number in range(LANES):
                lane = uint64(number)
                hidden = sized(sized(rows[_STOCK + lane] | rows[_UNION + lane]) & everything)
                table[_UNSEEN + lane] = sized(hidden & ~rows[_MOVER + lane])
            return bring(rows, table, _UNSEEN, table, marks, lanes)

        return bring_own if own else bring_unseen

    return Undecided(bring_for, put_back_packed if packs else put_back_listed)
