"""What finished matches add up to, compiled: in numpy the sums took a third of a job's time.

Letters in shapes: M matches, n seats (and places), R rotations of a block, U units of a block's score.
"""

from typing import Final, NamedTuple

import numpy as np
import numpy.typing as npt
from numba import int64, uint64

from workers.engine.compile import compiled
from workers.engine.scalar.bits import ones
from workers.engine.scalar.layout import Integers

WINS, SHARED_WINS, POINTS = range(3)
SEAT_COUNTS: Final = 3
UNFINISHED, DRAWS, ROUNDS = range(3)
MATCH_COUNTS: Final = 3
MARGIN, SQUARES_HIGH, SQUARES_LOW = range(3)
"""Sums over blocks of a place's margin and of its square, the latter in two halves: alone it could pass 64 bits."""
MARGIN_SUMS: Final = 3
_HALF, _LOW_HALF = 32, 2**32 - 1


class Sums(NamedTuple):
    """What matches of whole blocks add up to."""

    matches: Integers
    """[MATCH_COUNTS]"""
    seats: Integers
    """[R, n, SEAT_COUNTS]"""
    rounds: Integers
    """By rounds of a match: how many matches had so many."""
    winning_margins: Integers
    """By what the best side is ahead of the next: how many matches ended so."""
    block_scores: Integers
    """[n, U + 1] by place and score: how many blocks had it."""
    margins: Integers
    """[n, MARGIN_SUMS]"""
    clusters: Integers
    """The first place's block scores, summed by number of block modulo their number."""


def count_matches(
    scores: npt.NDArray[np.int32], winners: npt.NDArray[np.uint8], rounds: npt.NDArray[np.int32], rotations: int,
    partners: bool, unit: int, first_block: int, clusters: int,
) -> Sums:  # fmt: skip
    """Count matches of whole blocks, given as in `play.MatchRows`, the first of which is block `first_block`.

    `unit` is what a won match adds to a block's score; a shared one is divided by the sides that share it. A place's margin
    in a block is the sum over its matches of n times the own score less everybody's, which must stay below 2^31.
    """
    players = scores.shape[1]
    sums = Sums(
        matches=np.zeros(MATCH_COUNTS, np.int64),
        seats=np.zeros((rotations, players, SEAT_COUNTS), np.int64),
        rounds=np.zeros(rounds.max(initial=0) + 1, np.int64),
        winning_margins=np.zeros(scores.max(initial=0) + 1, np.int64),
        block_scores=np.zeros((players, unit * rotations + 1), np.int64),
        margins=np.zeros((players, MARGIN_SUMS), np.int64),
        clusters=np.zeros(clusters, np.int64),
    )
    _count(scores, winners, rounds, partners, unit, first_block % clusters, sums)
    return sums


@compiled(entry=True)
def _count(
    scores: npt.NDArray[np.int32], winners: npt.NDArray[np.uint8], rounds: npt.NDArray[np.int32], partners: bool, unit: int,
    first_cluster: int, sums: Sums,
) -> None:  # fmt: skip
    matches, seats, rounds_of, winning_margins, block_scores, margins, clusters = sums
    rotations, players = seats.shape[0], scores.shape[1]
    ranked = 2 if partners else players
    block_score = np.zeros(players, np.int64)
    block_margin = np.zeros(players, np.int64)
    for block in range(rounds.shape[0] // rotations):
        block_score[:] = 0
        block_margin[:] = 0
        for rotation in range(rotations):
            match = block * rotations + rotation
            won = int64(winners[match])
            sides = ones(uint64(won))
            sides = sides // 2 if partners else sides
            sole = int64(sides == 1)
            share = unit // max(sides, 1)
            total, best, second = int64(0), int64(-1), int64(-1)
            for seat in range(players):
                score = int64(scores[match, seat])
                total += score
                if seat < ranked:
                    second = max(second, min(best, score))
                    best = max(best, score)
            for seat in range(players):
                score = int64(scores[match, seat])
                has_won = (won >> seat) & 1
                seats[rotation, seat, WINS] += has_won & sole
                seats[rotation, seat, SHARED_WINS] += has_won & (1 - sole)
                seats[rotation, seat, POINTS] += score
                place = seat - rotation if seat >= rotation else seat - rotation + players
                block_score[place] += has_won * share
                block_margin[place] += players * score - total
            matches[UNFINISHED] += int64(sides == 0)
            matches[DRAWS] += int64(sides > 1)
            matches[ROUNDS] += rounds[match]
            rounds_of[rounds[match]] += 1
            winning_margins[best - second] += 1
        for place in range(players):
            block_scores[place, block_score[place]] += 1
            margin = block_margin[place]
            margins[place, MARGIN] += margin
            margins[place, SQUARES_HIGH] += (margin * margin) >> _HALF
            margins[place, SQUARES_LOW] += (margin * margin) & _LOW_HALF
        clusters[(first_cluster + block) % clusters.shape[0]] += block_score[0]
