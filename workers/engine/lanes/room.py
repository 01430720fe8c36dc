"""The arrays in which lanes play, and what stands beside them: made for one call of the kernel."""

from typing import Final, NamedTuple, TypeAlias

import numpy as np
import numpy.typing as npt

from workers.engine.lanes.layout import (
    ENTRY,
    LANES,
    MARKS,
    MAX_SEATS,
    RECORD,
    ROWS,
    STOCK_WIDTH,
    WIDTH,
    WORK_ROWS,
    Bytes,
    Masks,
    Rows,
    Scores,
    Shorts,
)
from workers.engine.rules import Ruleset
from workers.engine.scalar.layout import MAX_SEATS as HAND_PAIRS
from workers.engine.scalar.layout import Integers, Words

CACHE_LINE: Final = 64
"""In bytes."""
Tables: TypeAlias = tuple[Integers, Words, Shorts, Words, Shorts]
"""The tables of `subsets.HandTables`."""
Results: TypeAlias = tuple[Scores, Bytes, Scores, Integers, Integers]
"""Scores, winners, rounds and rounds won as in `play.MatchRows`, then the totals."""


class Room(NamedTuple):
    """Room to play in; what is not said here is said in `layout`."""

    rows: Rows
    addresses: Words
    """By row of a seat and lane: where the seat's next decision takes its random word from."""
    records: Integers
    entries: Integers
    first_rows: Bytes
    """By lane: the row of the seat that opened this round."""
    dealt: Rows
    """By lane and seat: the hand of the next round."""
    table: Rows
    marks: Words
    ended: Bytes
    """The same as bytes, one a lane."""
    hands: Words
    """The hands of a lane as word pairs."""
    lots: Words
    fresh: Words
    """Lanes that have a round to be dealt."""
    done: Words
    """Lanes whose match is over."""
    due: Words
    """By place of the lineup: lanes whose leader plays its program."""
    dues: Integers
    over: Shorts
    """Lanes whose round has ended."""
    rivals: Shorts
    """Lanes that still have a choice."""
    stocks: Bytes
    drawing: Shorts
    """Lanes that draw."""
    drawing_passes: Integers
    others: npt.NDArray[np.uint32]
    """By step of a shuffle and column: the place that the step's tile comes from."""


def make_room(masks: Masks, ruleset: Ruleset) -> Room:
    """Empty room for a ruleset."""
    number = masks.number
    dealt = ruleset.players * ruleset.hand
    marks = np.zeros(LANES // MARKS, np.uint64)
    return Room(
        rows=np.zeros(ROWS * WIDTH, number),
        addresses=np.zeros(MAX_SEATS * WIDTH, np.uint64),
        records=_whole_lines(LANES * int(RECORD)),
        entries=np.zeros(LANES * int(ENTRY), np.int64),
        first_rows=np.zeros(LANES, np.uint8),
        dealt=np.zeros(LANES * MAX_SEATS, number),
        table=np.zeros(WORK_ROWS * WIDTH, number),
        marks=marks,
        ended=marks.view(np.uint8),
        hands=np.zeros(2 * HAND_PAIRS, np.uint64),
        lots=np.zeros(2 * LANES + 1, np.uint64),
        fresh=np.zeros(LANES + 1, np.uint64),
        done=np.zeros(LANES + 1, np.uint64),
        due=np.zeros(MAX_SEATS * LANES, np.uint64),
        dues=np.zeros(MAX_SEATS, np.int64),
        over=np.zeros(LANES + MARKS, np.uint16),
        rivals=np.zeros(LANES + MARKS, np.uint16),
        stocks=np.zeros(LANES * STOCK_WIDTH, np.uint8),
        drawing=np.zeros(LANES + MARKS, np.uint16),
        drawing_passes=np.zeros(2 * LANES, np.int64),
        # Steps come in pairs, and the last pair may have one too many.
        others=np.zeros((max(dealt, masks.tiles - dealt) + 1) * WIDTH, np.uint32),
    )


def _whole_lines(numbers: int) -> Integers:
    """So many zeros, the first of which begins a cache line."""
    spare = CACHE_LINE // np.dtype(np.int64).itemsize
    wider = np.zeros(numbers + spare, np.int64)
    first = -wider.ctypes.data % CACHE_LINE // wider.itemsize
    return wider[first : first + numbers]
