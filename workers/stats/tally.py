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
    # Not before anything is tallied: who only reads tallies need not wait for the compiler to load.
    from workers.engine.scalar.count import count_matches

    ruleset, rotations, players = lineup.ruleset, lineup.rotations, lineup.ruleset.players
    sums = count_matches(
        rows.scores, rows.winners, rows.rounds, rotations, ruleset.partners, score_unit(ruleset), first_block, CLUSTERS
    )
    blocks = len(rows.rounds) // rotations

    tally = Tally.empty(players)
    tally.matches = len(rows.rounds)
    tally.unfinished, tally.draws, tally.rounds = map(int, sums.matches)
    for name in ("plies", "passes", "blocked_rounds", "tied_blocked_rounds", "leader_rounds_won"):
        setattr(tally, name, int(getattr(rows, name)))
    tally.rounds_per_match = _histogram(sums.rounds)
    tally.winning_margin = _histogram(sums.winning_margins)
    for rotation in range(rotations):
        for seat in range(players):
            wins, shared_wins, points = map(int, sums.seats[rotation, seat])
            counts = Counts(wins, shared_wins, int(rows.rounds_won[rotation, seat]), points)
            tally.seats[seat].add(counts)
            tally.places[(seat - rotation) % players].add(counts)
    for place, (margin, high, low) in enumerate(sums.margins.tolist()):
        tally.blocks[place] = BlockScores(_histogram(sums.block_scores[place]), margin, (high << 32) + low)
    # Up to the last cluster that holds a block.
    tally.clusters = sums.clusters[: min(first_block % CLUSTERS + blocks, CLUSTERS) if blocks else 0].tolist()
    return tally


def _histogram(counts: npt.NDArray[np.int64]) -> Histogram:
    return Counter({int(value): int(counts[value]) for value in np.flatnonzero(counts)})
