"""Tiles and sets: the alphabet of the engine.

A tile is a pair of halves, the low one first. The tiles of a set are numbered in *rank order*: by pips, then by the
higher half. The heaviest tile of a hand is then its highest number, ties included, so that a hand kept as a bit mask
answers "heaviest" with its top bit.
"""

from collections.abc import Iterable
from functools import cache
from typing import Final, TypeAlias

Tile: TypeAlias = tuple[int, int]
"""A domino (low, high) with 0 <= low <= high <= the set's highest value."""
TileId: TypeAlias = int
"""Position of a tile in its set's rank order, 0 to size - 1."""

SETS: Final = (6, 9, 12)
"""The highest value of the sets that exist: double-six, double-nine, double-twelve."""


def pips(tile: Tile) -> int:
    """Dots on both halves."""
    return tile[0] + tile[1]


def is_double(tile: Tile) -> bool:
    """Whether both halves are equal."""
    return tile[0] == tile[1]


def hand_pips(tiles: Iterable[Tile]) -> int:
    """Dots on all tiles of a hand; an empty hand has 0."""
    return sum(pips(tile) for tile in tiles)


def set_size(highest: int) -> int:
    """Tiles in the set: 28 for double-six, 55 for double-nine, 91 for double-twelve."""
    return (highest + 1) * (highest + 2) // 2


@cache
def tile_set(highest: int) -> tuple[Tile, ...]:
    """All tiles of the set in rank order: by pips, then by the higher half."""
    tiles = [(low, high) for low in range(highest + 1) for high in range(low, highest + 1)]
    return tuple(sorted(tiles, key=lambda tile: (pips(tile), tile[1])))


@cache
def tile_ids(highest: int) -> dict[Tile, TileId]:
    """The number of each tile in the set's rank order."""
    return {tile: number for number, tile in enumerate(tile_set(highest))}


def tile_name(tile: Tile) -> str:
    """The tile as players write it, `[2|5]`."""
    return f"[{tile[0]}|{tile[1]}]"
