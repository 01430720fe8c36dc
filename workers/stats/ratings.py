"""Ratings of a field by maximum likelihood: Bradley and Terry (1952) at two players, Luce's choice rule (1959) beyond.

An encounter seats one policy against a field of another: with c seats each, P(i wins) = c_i w_i / (c_i w_i + c_j w_j). The
logarithm of w is the rating, shown with mean 0 and 400 / ln 10 points a unit. Errors come twice: `naive` as if matches
were independent, `clustered` from the blocks, the independent unit. Where all encounters had the same deals, a block's
results depend on each other across encounters too: each encounter keeps its own variance between blocks, and how two of them
go together is read from their sums over the same clusters of blocks (over the same blocks, where there are few).

The rule does not fit dominoes exactly (see `chi_squared`), so ratings order a field; the pair matrix is what was measured.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

import numpy as np
import numpy.typing as npt

from workers.stats.tally import CLUSTERS

POINTS_A_UNIT: Final = 400.0 / math.log(10.0)
_NEWTON_STEPS: Final = 100
_CONVERGED: Final = 1e-13


@dataclass(frozen=True, slots=True)
class Encounter:
    """Blocks of policy `one` (in `one_seats` seats) against policy `other` (in `other_seats`).

    `matches` are decided ones. `wins` of `one` over all blocks and `win_squares`, the sum of its squared block scores, are
    in units of 1/`unit` of a match, `unit` being above 1 where a match can be shared. `clusters` are the wins by block
    number, summed as `workers.stats.tally.CLUSTERS` says; needed where deals were common.
    """

    one: int
    other: int
    one_seats: int
    other_seats: int
    blocks: int
    matches: int
    wins: int
    win_squares: int
    unit: int = 1
    clusters: tuple[int, ...] = ()

    @property
    def spread(self) -> float:
        """Variance of all wins, in matches squared: blocks times the unbiased variance of a block; 0 below two blocks."""
        if self.blocks < 2:
            return 0.0
        return (self.blocks * self.win_squares - self.wins**2) / ((self.blocks - 1) * self.unit**2)

    def cluster_deviations(self) -> npt.NDArray[np.float64]:
        """[C] wins by cluster less what is expected of so many blocks, so scaled that their squares sum up to `spread`."""
        sizes = np.array([len(range(cluster, self.blocks, CLUSTERS)) for cluster in range(CLUSTERS)])
        sums = np.zeros(CLUSTERS)
        sums[: len(self.clusters)] = self.clusters
        deviations: npt.NDArray[np.float64] = sums - sizes * (self.wins / self.blocks)
        squares = float((deviations**2).sum())
        return deviations * math.sqrt(self.spread / squares) if squares > 0.0 else deviations


@dataclass(frozen=True, slots=True)
class Ratings:
    """Per policy its points (mean 0) and standard errors; `chi_squared` on `degrees` says how well the rule fits."""

    points: tuple[float, ...]
    naive_errors: tuple[float, ...]
    clustered_errors: tuple[float, ...]
    chi_squared: float
    degrees: int


NEVER_MET: Final = "the field falls into parts that never met"
ONE_SIDED: Final = "a policy, or a group of policies, never lost or never won against the rest"


def unrated_reason(policies: int, encounters: Sequence[Encounter]) -> str | None:
    """Why the field has no ratings, or None where it has: everyone must lead to everyone by a chain of wins.

    That fails where a policy (or a group) never loses or never wins against the rest, or where parts never met.
    """
    beats = np.zeros((policies, policies), bool)
    for met in encounters:
        beats[met.one, met.other] |= met.wins > 0
        beats[met.other, met.one] |= met.wins < met.matches * met.unit
    forward, backward = _reach(beats), _reach(beats.T)
    if not (_reach(beats | beats.T)).all():
        return NEVER_MET
    if not (forward.all() and backward.all()):
        return ONE_SIDED
    return None


def rate(policies: int, encounters: Sequence[Encounter], *, common_deals: bool = False) -> Ratings:
    """The ratings of a field that has them (see `unrated_reason`), by Newton's method.

    With `common_deals` all encounters had the same blocks and number of blocks, and tell their clusters.
    """
    design = np.zeros((len(encounters), policies))
    for row, met in enumerate(encounters):
        design[row, met.one], design[row, met.other] = 1.0, -1.0
    offset = np.array([math.log(met.one_seats / met.other_seats) for met in encounters])
    matches = np.array([float(met.matches) for met in encounters])
    wins = np.array([met.wins / met.unit for met in encounters])
    worth = np.zeros(policies)
    for _ in range(_NEWTON_STEPS):
        chance = 1.0 / (1.0 + np.exp(-(design @ worth + offset)))
        step = np.linalg.pinv(_information(design, matches, chance)) @ (design.T @ (wins - matches * chance))
        # A far start can overshoot where the likelihood is flat: long steps are cut.
        worth += step / max(1.0, float(np.abs(step).max()) / 2.0)
        worth -= worth.mean()
        if float(np.abs(step).max()) < _CONVERGED:
            break
    chance = 1.0 / (1.0 + np.exp(-(design @ worth + offset)))
    inverse = np.linalg.pinv(_information(design, matches, chance))
    spread = np.array([met.spread for met in encounters])
    if common_deals:
        by_cluster = np.array([met.cluster_deviations() for met in encounters]).T
        # Deviations that cancel out within every cluster leave nothing to scale: that spread counts as independent.
        lost = np.maximum(spread - (by_cluster**2).sum(axis=0), 0.0)
        by_policy = by_cluster @ design
        between = by_policy.T @ by_policy + (design.T * lost) @ design
    else:
        between = (design.T * spread) @ design
    clustered = inverse @ between @ inverse
    varied = spread > 0.0
    chi_squared = float((((wins - matches * chance)[varied]) ** 2 / spread[varied]).sum())
    return Ratings(
        tuple((worth * POINTS_A_UNIT).tolist()),
        tuple((np.sqrt(np.diag(inverse)) * POINTS_A_UNIT).tolist()),
        tuple((np.sqrt(np.diag(clustered)) * POINTS_A_UNIT).tolist()),
        chi_squared,
        max(0, int(varied.sum()) - (policies - 1)),
    )


def _information(
    design: npt.NDArray[np.float64], matches: npt.NDArray[np.float64], chance: npt.NDArray[np.float64]
) -> npt.NDArray[np.float64]:
    information: npt.NDArray[np.float64] = (design.T * (matches * chance * (1.0 - chance))) @ design
    return information


def _reach(beats: npt.NDArray[np.bool_]) -> npt.NDArray[np.bool_]:
    """[P] which policies the first one reaches by a chain of `beats`, itself included."""
    reached = np.zeros(len(beats), bool)
    reached[0] = True
    for _ in range(len(beats)):
        reached = reached | beats[reached].any(axis=0)
    return reached
