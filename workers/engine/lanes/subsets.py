"""Hands by number from tables that stay in the second-level cache.

`deal.unrank_subset` numbers the subsets of up to 28 places by their masks. All subsets whose places from 14 on are the same
follow each other, and among them the lower 14 places run through all their subsets of the size that is left: so a number is
the first number of such a *segment* and the number of a subset of 14 places. The segment of a number is counted: numbers lie
in buckets of 64, and a bucket has a word with a bit for each number that begins a segment.

A single table of all subsets of 28 places is 5 MB: it was measured to take three times as long, waiting for memory.

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
BUCKET_BITS: Final = 6
"""A bucket has as many numbers as a word has bits."""

# Columns of a seat's figures.
SUBSETS: Final = 0
"""How many hands there are."""
BUCKET: Final = 1
"""Where the seat's buckets begin."""
SEGMENT: Final = 2
"""Where its segments begin."""
FIGURES: Final = 3

UPPER_SHIFT: Final = 32
"""Above this many bits of a segment's word are its places from 14 on, as the mask of a hand; below is, less the segment's first
number, where the masks of its lower part begin in `lowers`."""


@dataclass(frozen=True, slots=True)
class HandTables:
    """How seats' numbers become masks over the tiles that the seats before left."""

    figures: npt.NDArray[np.int64]
    """`[n, FIGURES]`"""
    begins: npt.NDArray[np.uint64]
    """By bucket: which of its numbers begin a segment."""
    before: npt.NDArray[np.uint16]
    """By bucket: how many segments of the seat begin before it."""
    segments: npt.NDArray[np.uint64]
    """By segment: see `UPPER_SHIFT`."""
    lowers: npt.NDArray[np.uint16]
    """All masks of 14 places, by size and then ascending."""


@cache
def hand_tables(players: int, hand: int) -> HandTables:
    """The tables for hands of double-six."""
    sizes = np.bitwise_count(np.arange(1 << LOWER)).astype(np.int64)
    first_of_size = np.array([(sizes < size).sum() for size in range(LOWER + 1)], np.uint64)
    figures = np.zeros((players, FIGURES), np.int64)
    begins: list[npt.NDArray[np.uint64]] = []
    before: list[npt.NDArray[np.int64]] = []
    segments: list[npt.NDArray[np.uint64]] = []
    for seat in range(players):
        among = set_size(6) - seat * hand
        lower = min(LOWER, among)
        left = hand - sizes[: 1 << among - lower]
        weights = np.array([comb(lower, size) if size >= 0 else 0 for size in left])
        uppers = np.flatnonzero(weights)
        starts = (np.cumsum(weights[uppers]) - weights[uppers]).astype(np.uint64)
        total = comb(among, hand)
        figures[seat] = total, sum(map(len, begins)), sum(map(len, segments))
        bits = np.zeros((total - 1 >> BUCKET_BITS) + 1, np.uint64)
        np.bitwise_or.at(bits, starts >> BUCKET_BITS, np.uint64(1) << (starts & ((1 << BUCKET_BITS) - 1)))
        begins.append(bits)
        before.append(np.cumsum(np.bitwise_count(bits)) - np.bitwise_count(bits))
        offsets = first_of_size[left[uppers]] - starts & np.uint64((1 << UPPER_SHIFT) - 1)
        segments.append(offsets | uppers.astype(np.uint64) << UPPER_SHIFT + LOWER)
    return HandTables(
        figures=figures,
        begins=np.concatenate(begins),
        before=np.concatenate(before).astype(np.uint16),
        segments=np.concatenate(segments),
        lowers=np.argsort(sizes, kind="stable").astype(np.uint16),
    )
