"""Hands by number from tables that stay in the second-level cache.

`deal.unrank_subset` numbers the subsets of up to 28 places by their masks. All subsets whose places from 14 on are the same
follow each other, and among them the lower 14 places run through all their subsets of the size that is left: so a number is
the first number of such a *segment* and the number of a subset of 14 places. A single table of all subsets of 28 places is
5 MB: it was measured to take four times as long, waiting for memory.

Letters in shapes: n seats.
"""

from dataclasses import dataclass
from functools import cache
from math import comb
from typing import Final

import numpy as np
import numpy.typing as npt

from workers.engine.tiles import set_size

LOWER: Final = 14
"""Places in the lower part."""
BUCKETS: Final = 16384
"""Buckets, about, in which numbers are first looked up."""

# Columns of a seat's figures.
SUBSETS: Final = 0
"""How many hands there are."""
SHIFT: Final = 1
"""A number shifted by so much is that of its bucket."""
BUCKET: Final = 2
"""Where the seat's buckets begin in `buckets`."""
SEGMENT: Final = 3
"""Where its segments begin in `starts`, `uppers` and `lowers`."""
HALVINGS: Final = 4
"""Binary digits of the largest number of segments that a bucket reaches on."""
FIGURES: Final = 5


@dataclass(frozen=True, slots=True)
class HandTables:
    """How seats' numbers become masks over the tiles that the seats before left."""

    figures: npt.NDArray[np.int64]
    """`[n, FIGURES]`"""
    buckets: npt.NDArray[np.uint16]
    """By bucket: the segment of its first number."""
    starts: npt.NDArray[np.uint32]
    """By segment: its first number. After a seat's last segment stand as many numbers beyond all as a search may ask for."""
    uppers: npt.NDArray[np.uint32]
    """By segment: its places from 14 on, as a mask."""
    lowers: npt.NDArray[np.uint16]
    """By segment: where the masks of its lower part begin in `masks`."""
    masks: npt.NDArray[np.uint16]
    """All masks of 14 places, by size and then ascending."""


@cache
def hand_tables(players: int, hand: int) -> HandTables:
    """The tables for hands of double-six."""
    every = np.arange(1 << LOWER)
    sizes = np.bitwise_count(every).astype(np.int64)
    first_of_size = np.array([(sizes < size).sum() for size in range(LOWER + 1)])
    figures = np.zeros((players, FIGURES), np.int64)
    buckets: list[npt.NDArray[np.int64]] = []
    starts: list[npt.NDArray[np.int64]] = []
    uppers: list[npt.NDArray[np.int64]] = []
    lowers: list[npt.NDArray[np.int64]] = []
    for seat in range(players):
        among = set_size(6) - seat * hand
        lower = min(LOWER, among)
        left = hand - sizes[: 1 << among - lower]
        weights = np.array([comb(lower, size) if size >= 0 else 0 for size in left])
        segments = np.flatnonzero(weights)
        ends = np.cumsum(weights[segments])
        begins = ends - weights[segments]
        total = int(ends[-1])
        shift = max(0, total.bit_length() - BUCKETS.bit_length() + 1)
        seat_buckets = np.searchsorted(begins, np.arange((total - 1 >> shift) + 2) << shift, side="right") - 1
        halvings = int(np.diff(seat_buckets).max()).bit_length()
        figures[seat] = total, shift, sum(map(len, buckets)), sum(map(len, starts)), halvings
        padding = 1 << halvings
        buckets.append(seat_buckets)
        starts.append(np.concatenate([begins, np.full(padding, (1 << 32) - 1)]))
        uppers.append(np.concatenate([segments << lower, np.zeros(padding, np.int64)]))
        lowers.append(np.concatenate([first_of_size[left[segments]], np.zeros(padding, np.int64)]))
    return HandTables(
        figures=figures,
        buckets=np.concatenate(buckets).astype(np.uint16),
        starts=np.concatenate(starts).astype(np.uint32),
        uppers=np.concatenate(uppers).astype(np.uint32),
        lowers=np.concatenate(lowers).astype(np.uint16),
        masks=np.argsort(sizes, kind="stable").astype(np.uint16),
    )
