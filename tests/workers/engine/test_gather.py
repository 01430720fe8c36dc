"""Marked lanes listed, packed into columns and put back: for every way to mark eight lanes."""

from typing import Any

import numpy as np
import pytest
from numba import njit, uint64

from workers.engine.lanes.gather import can_pack, gather, marked, order_of, pack, ranks_of, unpack
from workers.engine.lanes.layout import LANES, MARKS

EVERY = 1 << MARKS
"""Ways to mark eight lanes."""


@njit(no_cfunc_wrapper=True)  # type: ignore[untyped-decorator]
def _there_and_back(marks: Any, rows: Any, table: Any, back: Any) -> None:
    """For each eight lanes: its marked words into a line of eight of `table`, and from there into `back`."""
    for number in range(len(marks)):
        group = uint64(number)
        bits = marked(marks, group)
        first = group * uint64(MARKS)
        pack(rows, first, order_of(bits), table, first)
        unpack(table, first, ranks_of(bits), back, first)


@njit(no_cfunc_wrapper=True)  # type: ignore[untyped-decorator]
def _listed(marks: Any, lanes: Any) -> int:
    return gather(marks, lanes)


def every_way() -> np.ndarray[Any, np.dtype[np.uint8]]:
    """Shape [256, 8]: the bits of the row's number."""
    return np.unpackbits(np.arange(EVERY, dtype=np.uint8)[:, None], axis=1, bitorder="little")


@pytest.mark.skipif(not can_pack(), reason="this processor has no AVX2")
def test_words_are_packed_and_put_back() -> None:
    chosen = every_way()
    rows = np.random.default_rng(7).integers(0, 2**32, chosen.size, np.uint32)
    table, back = np.zeros_like(rows), np.zeros_like(rows)
    _there_and_back(chosen.reshape(-1).view(np.uint64), rows, table, back)
    for mask, row, packed in zip(chosen.astype(bool), rows.reshape(-1, MARKS), table.reshape(-1, MARKS), strict=True):
        assert packed[: mask.sum()].tolist() == row[mask].tolist()
    assert back.tolist() == np.where(chosen.reshape(-1), rows, 0).tolist()


def test_lanes_are_listed() -> None:
    for marks in every_way().reshape(-1, LANES):
        lanes = np.zeros(LANES + MARKS, np.uint16)
        count = _listed(marks.view(np.uint64), lanes)
        assert lanes[:count].tolist() == np.flatnonzero(marks).tolist()
