"""The policy language: what a policy may prefer or weigh, and what a program does with it, literally.

A policy is a short program over *features*: whole numbers that each legal placement has in a view. `prefer` keeps, one
preference after the other, the placements that are best in it; `weights` keeps those with the greatest weighted sum; what
is left is decided by `finish`. The compiled kernels run the same programs over bit masks and must agree with `select`.

Weights are fixed-point, thousandths as whole numbers: no floating-point value decides anything.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from enum import IntEnum
from functools import cache
from typing import Final

import numpy as np

from workers.engine.reference import Placement, View, ends_after
from workers.engine.rng import DecisionRandom
from workers.engine.tiles import Tile, is_double, pips, tile_ids, tile_set


class Feature(IntEnum):
    """What a placement is worth looking at for; each is a whole number, computed for the position after the placement."""

    PIPS = 0
    """Pips of the placed tile."""
    DOUBLE = 1
    """1 for a double."""
    MOBILITY = 2
    """Tiles left in the own hand that fit a new end."""
    DISTINCT = 3
    """Distinct values on the tiles left in the own hand."""
    NEXT_LACKS_ONE = 4
    """1 if the next seat is known to lack the value of at least one new end."""
    NEXT_LACKS_BOTH = 5
    """1 if the next seat is known to lack the values of both new ends."""
    UNSEEN = 6
    """Tiles neither in the own hand nor on the line that fit a new end."""
    OTHER_LACKS = 7
    """1 if any other seat is known to lack the value of at least one new end."""
    NO_FOLLOW_UP = 8
    """1 if no tile left in the own hand fits a new end."""
    EQUAL_ENDS = 9
    """1 if both new ends have the same value."""


class Finish(IntEnum):
    """How the last placement is picked from those that a program leaves."""

    TOP = 0
    """More pips, then the higher half, then the smaller matched end."""
    RANDOM = 1
    """Uniform over the placements, in kernel order."""
    RANDOM_TILE = 2
    """Uniform over the tiles in rank order, then uniform over the ends that the tile fits, the left end first."""


@dataclass(frozen=True, slots=True)
class Preference:
    """Keep the placements that have most (or, where `fewest`, least) of a feature."""

    feature: Feature
    fewest: bool = False


FEATURES: Final = len(Feature)
MAX_PREFERENCES: Final = 8
WEIGHT_UNIT: Final = 1000
"""A weight of 1 is stored as this many thousandths."""
MAX_WEIGHT: Final = 1000
"""Weights lie in [-MAX_WEIGHT, MAX_WEIGHT]: sums over all features stay inside 31 bits."""
PROGRAM_WORDS: Final = 3 + MAX_PREFERENCES + FEATURES
"""Length of an encoded program: finish, whether weights are used, number of preferences, the preferences, the weights."""


@dataclass(frozen=True, slots=True)
class Program:
    """Preferences in turn, or weights (in thousandths, by feature), then the finish."""

    prefer: tuple[Preference, ...] = ()
    weights: tuple[int, ...] | None = None
    finish: Finish = Finish.TOP

    def simplified(self) -> "Program":
        """The same play without a last preference that the finish repeats: the top placement has the most pips anyway."""
        prefer = self.prefer
        while prefer and prefer[-1] == Preference(Feature.PIPS) and self.finish is Finish.TOP and self.weights is None:
            prefer = prefer[:-1]
        return replace(self, prefer=prefer)

    def encode(self) -> "np.ndarray[tuple[int], np.dtype[np.int32]]":
        """`[PROGRAM_WORDS]` int32, as the kernels read it; a preference is `feature * 2 + fewest`."""
        words = np.zeros(PROGRAM_WORDS, np.int32)
        words[:3] = self.finish, self.weights is not None, len(self.prefer)
        for position, preference in enumerate(self.prefer):
            words[3 + position] = preference.feature * 2 + preference.fewest
        if self.weights is not None:
            words[3 + MAX_PREFERENCES :] = self.weights
        return words


def thousandths(weights: Mapping[Feature, float]) -> tuple[int, ...]:
    """Weights by feature as a program holds them; features that are not named weigh nothing."""
    return tuple(round(weights.get(feature, 0) * WEIGHT_UNIT) for feature in Feature)


def features(view: View, placement: Placement) -> tuple[int, ...]:
    """All features of a placement, by `Feature`."""
    tile = placement.tile
    left, right = ends_after(view.line_ends, placement)
    kept = [other for other in view.hand if other != tile]
    seen = {*view.hand, *(ply.placement.tile for ply in view.plies if ply.placement is not None)}
    next_lacks = view.lacks[view.next_seat]
    others = [lacks for seat, lacks in enumerate(view.lacks) if seat != view.seat]
    fitting = _fitting(view.ruleset.set, left, right)
    mobility = len(fitting.intersection(kept))
    return (
        pips(tile),
        is_double(tile),
        mobility,
        len({value for other in kept for value in other}),
        left in next_lacks or right in next_lacks,
        left in next_lacks and right in next_lacks,
        len(fitting.difference(seen)),
        any(left in lacks or right in lacks for lacks in others),
        mobility == 0,
        left == right,
    )


def select(program: Program, view: View, random: DecisionRandom) -> Placement:
    """The placement that a program chooses from `view.legal`; consumes at most one word of `random`."""
    left = list(view.legal)
    looks = program.prefer or program.weights is not None
    worth = {placement: features(view, placement) for placement in left} if looks else {}
    for preference in program.prefer:
        sign = -1 if preference.fewest else 1
        best = max(sign * worth[placement][preference.feature] for placement in left)
        left = [placement for placement in left if sign * worth[placement][preference.feature] == best]
    if program.weights is not None:
        weights = program.weights
        totals = {placement: sum(w * f for w, f in zip(weights, worth[placement], strict=True)) for placement in left}
        left = [placement for placement in left if totals[placement] == max(totals.values())]
    return _finish(program.finish, view, left, random)


def _finish(finish: Finish, view: View, left: Sequence[Placement], random: DecisionRandom) -> Placement:
    rank = tile_ids(view.ruleset.set)
    if finish is Finish.TOP:
        return min(left, key=lambda placement: (-rank[placement.tile], placement.end or 0))
    if finish is Finish.RANDOM:
        return kernel_order(view, left)[random.below(len(left))]
    word = random.next_word()
    tiles = sorted({placement.tile for placement in left}, key=rank.__getitem__)
    tile = tiles[DecisionRandom(word).below(len(tiles))]
    ends = [placement for placement in kernel_order(view, left) if placement.tile == tile]
    return ends[(word & 0xFFFF_FFFF) * len(ends) >> 32]


def kernel_order(view: View, legal: Sequence[Placement]) -> list[Placement]:
    """The placements as the kernels count them: those at the left end in rank order, then those at the right end."""
    rank = tile_ids(view.ruleset.set)
    left_end = view.line_ends[0] if view.line_ends else None
    return sorted(legal, key=lambda placement: (placement.end != left_end, rank[placement.tile]))


@cache
def _fitting(highest: int, left: int, right: int) -> frozenset[Tile]:
    """The tiles of the set that fit one of two ends."""
    return frozenset(tile for tile in tile_set(highest) if left in tile or right in tile)
