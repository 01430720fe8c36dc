"""Estimates from block tallies: shares and margins with their 95 % intervals, and Elo.

The unit of every estimate is the block: one deal sequence played once per rotation, so that luck in the deal is shared
by everyone who sat in every seat. N blocks with values x have S1 = sum x and S2 = sum x^2, whole numbers until the
last division; the interval is Student's at N - 1 degrees of freedom.
"""

import math
from collections.abc import Mapping
from dataclasses import dataclass

from workers.stats.student import student_quantile

CONFIDENCE_TAIL = 0.025
"""Half of what a 95 % interval leaves out."""


@dataclass(frozen=True, slots=True)
class Moments:
    """Blocks counted, and the sum and sum of squares of their values, exact."""

    blocks: int
    total: int
    squares: int

    @classmethod
    def of_histogram(cls, histogram: Mapping[int, int]) -> "Moments":
        """The moments of a histogram value -> count."""
        return cls(
            sum(histogram.values()),
            sum(value * count for value, count in histogram.items()),
            sum(value * value * count for value, count in histogram.items()),
        )

    def mean(self, scale: int) -> float:
        """Mean value in units of `scale`; needs at least one block."""
        return self.total / (self.blocks * scale)

    def variance(self, scale: int) -> float | None:
        """Unbiased variance of a block's value in units of `scale` squared; None below two blocks."""
        if self.blocks < 2:
            return None
        spread = self.blocks * self.squares - self.total * self.total
        return spread / (self.blocks * (self.blocks - 1) * scale * scale)

    def standard_error(self, scale: int) -> float | None:
        """Standard error of the mean; None below two blocks."""
        variance = self.variance(scale)
        return None if variance is None else math.sqrt(variance / self.blocks)


@dataclass(frozen=True, slots=True)
class Estimate:
    """A mean with its standard error and 95 % interval; None where the blocks do not give one."""

    mean: float | None
    standard_error: float | None
    interval: tuple[float, float] | None


def share_estimate(scores: Mapping[int, int], units: int) -> Estimate:
    """The share of its matches that a place won, from its histogram of block scores (0 to `units`).

    Clipped to [0, 1]. Where all blocks score the same, the interval comes from the chance that a block which differs was
    not seen in N; with one block or none it is [0, 1].
    """
    moments = Moments.of_histogram(scores)
    if moments.blocks == 0:
        return Estimate(None, None, (0.0, 1.0))
    mean = moments.mean(units)
    error = moments.standard_error(units)
    if error is None:
        return Estimate(mean, None, (0.0, 1.0))
    if error == 0.0:
        return Estimate(mean, 0.0, unvaried_interval(mean, moments.blocks))
    reach = student_quantile(moments.blocks - 1) * error
    return Estimate(mean, error, (max(0.0, mean - reach), min(1.0, mean + reach)))


def margin_estimate(moments: Moments, players: int, rotations: int) -> Estimate:
    """Points a match by which a place is ahead of the mean of the others, from its block margins.

    A block's margin sums (n - 1) * own - others over its matches, hence the scale rotations * (players - 1).
    """
    if moments.blocks == 0:
        return Estimate(None, None, None)
    scale = rotations * (players - 1)
    mean = moments.mean(scale)
    error = moments.standard_error(scale)
    if not error:
        return Estimate(mean, error, None)
    reach = student_quantile(moments.blocks - 1) * error
    return Estimate(mean, error, (mean - reach, mean + reach))


def unvaried_interval(mean: float, blocks: int) -> tuple[float, float]:
    """The interval of a share when every one of N blocks scored `mean`: p = 1 - 0.025^(1/N) may still differ."""
    unseen = -math.expm1(math.log(CONFIDENCE_TAIL) / blocks)
    return mean * (1.0 - unseen), mean + (1.0 - mean) * unseen


def elo(share: float, players: int) -> float | None:
    """Elo difference of a share against equal opponents; None at 0 and 1, where it is infinite.

    400 log10(s (n - 1) / (1 - s)): the usual scale at two players, a convention beyond.
    """
    if not 0.0 < share < 1.0:
        return None
    return 400.0 * math.log10(share * (players - 1) / (1.0 - share))
