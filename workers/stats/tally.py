"""Tallies: the exact integers of whole blocks of one scenario. They merge by addition, in any order.

Letters in shapes: n seats (and places), R rotations of a block, U units of a block's score.
"""

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field, fields
from itertools import zip_longest
from math import lcm
from typing import Any, Final

import numpy as np
import numpy.typing as npt

from workers.engine.play import Lineup, MatchRows
from workers.engine.rules import Ruleset

Histogram = Counter[int]
"""Value to count."""

CLUSTERS: Final = 128
"""Block b belongs to cluster b mod this. Scenarios of one seed see the same deals in a block, so what their results have in
common shows between the same clusters; a standard error from so many is known to about a sixteenth."""

JSON_SAFE: Final = 2**53
"""Whole numbers beyond this travel as strings: a JSON reader may keep numbers as doubles."""


def score_unit(ruleset: Ruleset) -> int:
    """Units of block score that one won match is worth: 1, or lcm(1..n) where a match can end shared (`stats` unit)."""
    if not ruleset.may_draw_ends:
        return 1
    return 2 if ruleset.partners else lcm(*range(1, ruleset.players + 1))


@dataclass(slots=True)
class Counts:
    """What is counted for a seat, and again for a place in the scenario's list."""

    wins: int = 0
    shared_wins: int = 0
    rounds_won: int = 0
    points: int = 0

    def add(self, other: "Counts") -> None:
        """Merge another count into this one."""
        for name in self.__slots__:
            setattr(self, name, getattr(self, name) + getattr(other, name))


@dataclass(slots=True)
class BlockScores:
    """A place's blocks: how many blocks had each score (0 to U), and the sums of its margin.

    A block's margin is the sum over its matches of (n - 1) times the own score less the others' scores: a whole number.
    """

    scores: Histogram = field(default_factory=Counter)
    margin_sum: int = 0
    margin_square_sum: int = 0

    def add(self, other: "BlockScores") -> None:
        """Merge another tally of blocks into this one."""
        self.scores.update(other.scores)
        self.margin_sum += other.margin_sum
        self.margin_square_sum += other.margin_square_sum


@dataclass(slots=True)
class Tally:
    """All integers of a result. Lists are by seat (`seats`), by place (`places`, `blocks`) or by cluster.

    `clusters` are the first place's block scores summed by `CLUSTERS`, up to the last cluster that holds a block.
    """

    matches: int = 0
    unfinished: int = 0
    draws: int = 0
    rounds: int = 0
    plies: int = 0
    passes: int = 0
    blocked_rounds: int = 0
    tied_blocked_rounds: int = 0
    leader_rounds_won: int = 0
    seats: list[Counts] = field(default_factory=list)
    places: list[Counts] = field(default_factory=list)
    rounds_per_match: Histogram = field(default_factory=Counter)
    winning_margin: Histogram = field(default_factory=Counter)
    blocks: list[BlockScores] = field(default_factory=list)
    clusters: list[int] = field(default_factory=list)

    @classmethod
    def empty(cls, players: int) -> "Tally":
        """The tally of nothing."""
        return cls(
            seats=[Counts() for _ in range(players)],
            places=[Counts() for _ in range(players)],
            blocks=[BlockScores() for _ in range(players)],
        )

    def merge(self, other: "Tally") -> None:
        """Add another tally of the same scenario to this one."""
        for name in PLAIN_COUNTS:
            setattr(self, name, getattr(self, name) + getattr(other, name))
        for mine, theirs in zip([*self.seats, *self.places], [*other.seats, *other.places], strict=True):
            mine.add(theirs)
        self.rounds_per_match.update(other.rounds_per_match)
        self.winning_margin.update(other.winning_margin)
        for block, more in zip(self.blocks, other.blocks, strict=True):
            block.add(more)
        self.clusters = [mine + theirs for mine, theirs in zip_longest(self.clusters, other.clusters, fillvalue=0)]

    def to_json(self) -> dict[str, Any]:
        """The tally as JSON values; whole numbers over 2^53 as strings, histograms as ascending `[[value, count], ...]`."""
        return {
            **{name: json_integer(getattr(self, name)) for name in PLAIN_COUNTS},
            "seats": [counts_to_json(counts) for counts in self.seats],
            "places": [counts_to_json(counts) for counts in self.places],
            "rounds_per_match": histogram_to_json(self.rounds_per_match),
            "winning_margin": histogram_to_json(self.winning_margin),
            "blocks": [
                {
                    "scores": histogram_to_json(block.scores),
                    "margin_sum": json_integer(block.margin_sum),
                    "margin_square_sum": json_integer(block.margin_square_sum),
                }
                for block in self.blocks
            ],
            # A job's matches are few enough (10^12) for every sum of scores to be safe as a number.
            "clusters": self.clusters,
        }

    @classmethod
    def from_json(cls, value: Mapping[str, Any]) -> "Tally":
        """The tally that `to_json` wrote."""
        return cls(
            **{name: int(value[name]) for name in PLAIN_COUNTS},
            seats=[Counts(**{name: int(count) for name, count in counts.items()}) for counts in value["seats"]],
            places=[Counts(**{name: int(count) for name, count in counts.items()}) for counts in value["places"]],
            rounds_per_match=histogram_from_json(value["rounds_per_match"]),
            winning_margin=histogram_from_json(value["winning_margin"]),
            blocks=[
                BlockScores(
                    histogram_from_json(block["scores"]), int(block["margin_sum"]), int(block["margin_square_sum"])
                )
                for block in value["blocks"]
            ],
            clusters=value.get("clusters", []),  # tallies kept since before there were clusters
        )


PLAIN_COUNTS: Final = tuple(item.name for item in fields(Tally) if item.type is int or item.type == "int")
"""The fields of a tally that are single numbers."""


def json_integer(value: int) -> int | str:
    """The number itself, or its digits where a JSON reader could round it."""
    return value if -JSON_SAFE <= value <= JSON_SAFE else str(value)


def counts_to_json(counts: Counts) -> dict[str, int | str]:
    """A seat's or a place's counts by name."""
    return {name: json_integer(getattr(counts, name)) for name in counts.__slots__}


def histogram_to_json(histogram: Mapping[int, int]) -> list[list[int | str]]:
    """Ascending `[[value, count], ...]`, zero counts left out."""
    return [[value, json_integer(count)] for value, count in sorted(histogram.items()) if count]


def histogram_from_json(pairs: list[list[Any]]) -> Histogram:
    """The histogram that `histogram_to_json` wrote."""
    return Counter({int(value): int(count) for value, count in pairs})


def tally_rows(lineup: Lineup, rows: MatchRows, first_block: int) -> Tally:
    """The tally of finished rows of whole blocks, the first of which is block `first_block` of its scenario."""
    ruleset, rotations, players = lineup.ruleset, lineup.rotations, lineup.ruleset.players
    seat_wins = (rows.winners[:, None] >> np.arange(players)) & 1 == 1
    winning_sides = _winning_sides(ruleset, seat_wins)
    sole = seat_wins & (winning_sides == 1)[:, None]
    shared = seat_wins & (winning_sides > 1)[:, None]
    share = seat_wins * (score_unit(ruleset) // np.maximum(winning_sides, 1))[:, None]
    margins = players * rows.scores.astype(np.int64) - rows.scores.sum(axis=1, dtype=np.int64)[:, None]
    ranked = np.sort(rows.scores[:, :2] if ruleset.partners else rows.scores, axis=1)

    tally = Tally.empty(players)
    tally.matches = len(rows.rounds)
    tally.unfinished = int((winning_sides == 0).sum())
    tally.draws = int((winning_sides > 1).sum())
    tally.rounds = int(rows.rounds.sum(dtype=np.int64))
    for name in ("plies", "passes", "blocked_rounds", "tied_blocked_rounds", "leader_rounds_won"):
        setattr(tally, name, int(getattr(rows, name)))
    tally.rounds_per_match = _histogram(rows.rounds)
    tally.winning_margin = _histogram(ranked[:, -1] - ranked[:, -2])
    for place in range(players):
        block_score = np.zeros(len(rows.rounds) // rotations, np.int64)
        block_margin = np.zeros_like(block_score)
        for rotation in range(rotations):
            seat = (place + rotation) % players
            turn = slice(rotation, None, rotations)
            counts = Counts(
                wins=int(sole[turn, seat].sum()),
                shared_wins=int(shared[turn, seat].sum()),
                rounds_won=int(rows.rounds_won[rotation, seat]),
                points=int(rows.scores[turn, seat].sum(dtype=np.int64)),
            )
            tally.places[place].add(counts)
            tally.seats[seat].add(counts)
            block_score += share[turn, seat]
            block_margin += margins[turn, seat]
        # A margin stays below 2^31 and a call plays fewer than 2^31 blocks, so only the squares could pass 64 bits:
        # they are summed in two halves.
        squares = block_margin * block_margin
        square_sum = (int((squares >> 32).sum()) << 32) + int((squares & 0xFFFF_FFFF).sum())
        if place == 0:
            tally.clusters = _cluster_sums(block_score, first_block)
        tally.blocks[place] = BlockScores(_histogram(block_score), int(block_margin.sum()), square_sum)
    return tally


def _winning_sides(ruleset: Ruleset, seat_wins: npt.NDArray[np.bool_]) -> npt.NDArray[np.int64]:
    """[M] how many sides share each match: 0 unfinished, 1 won, more for a draw."""
    seats: npt.NDArray[np.int64] = seat_wins.sum(axis=1, dtype=np.int64)
    return seats // 2 if ruleset.partners else seats


def _cluster_sums(block_score: npt.NDArray[np.int64], first_block: int) -> list[int]:
    # Sums of a call stay far below 2^53, where the weights' doubles are exact.
    numbers = (first_block % CLUSTERS + np.arange(len(block_score))) % CLUSTERS
    return [int(total) for total in np.bincount(numbers, weights=block_score)]


def _histogram(values: npt.NDArray[Any]) -> Histogram:
    counts = np.bincount(values)
    return Counter({int(value): int(counts[value]) for value in np.flatnonzero(counts)})
