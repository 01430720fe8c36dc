"""Estimates after a sequential test has stopped: median-unbiased, from the law of a Brownian motion's first passage.

A test stops when luck and truth agree, so the plain share overstates the difference. Here the LLR is taken as a Brownian
motion with drift mu(s) and variance sigma^2 a block, both from the observed variance V of a block's share, and the share
is estimated by the s under which stopping this early (or later) on this side has probability one half (Siegmund 1985).

Letters: A lower bound, B upper bound, w = B - A, d = s1 - s0, g = mu / sigma^2, T blocks at the moment of passage.
"""

import math
from collections.abc import Callable
from dataclasses import dataclass

from scipy.optimize import brentq
from scipy.special import log_ndtr, ndtr

from workers.stats.estimate import CONFIDENCE_TAIL, unvaried_interval
from workers.stats.sprt import Bounds, Decision

_IMAGES = 60
"""Reflections on either side: the series has converged to double precision long before."""
_TERMS = 2000
"""Terms of the eigenfunction series at most; it stops earlier, when they vanish."""


@dataclass(frozen=True, slots=True)
class StoppedEstimate:
    """A median-unbiased share with its 95 % interval."""

    share: float
    interval: tuple[float, float]


@dataclass(frozen=True, slots=True)
class _Passage:
    """The first-passage law of one test: everything but the unknown share."""

    bounds: Bounds
    middle: float
    drift_unit: float
    variance: float

    def drift(self, share: float) -> float:
        return (share - self.middle) * self.drift_unit

    def up_by(self, blocks: float, share: float) -> float:
        """The chance to have crossed the upper bound first, by this many blocks."""
        return _crossed_up(blocks, self.bounds.lower, self.bounds.upper, self.drift(share), self.variance)

    def down_by(self, blocks: float, share: float) -> float:
        """The chance to have crossed the lower bound first: the mirrored motion between the mirrored bounds."""
        return _crossed_up(blocks, -self.bounds.upper, -self.bounds.lower, -self.drift(share), self.variance)

    def inside_at_least(self, blocks: float, level: float, share: float) -> float:
        """The chance to be still between the bounds after this many blocks, at `level` or above."""
        return _inside_above(blocks, level, self.bounds.lower, self.bounds.upper, self.drift(share), self.variance)


def stopped_estimate(
    *, blocks: int, mean: float, variance: float, s0: float, s1: float, bounds: Bounds, decision: Decision
) -> StoppedEstimate:
    """The share after the test stopped with `decision` at `blocks` blocks of mean share `mean`.

    `variance` is the population variance of a block's share. Without variance the mean and its interval are plain.
    """
    if variance <= 0.0:
        return StoppedEstimate(mean, unvaried_interval(mean, blocks))
    ratio = blocks * (s1 - s0) * (2.0 * mean - s0 - s1) / (2.0 * variance)
    step = s1 - s0
    passage = _Passage(bounds, (s0 + s1) / 2.0, step / variance, step * step / variance)
    time = _passage_time(blocks, ratio, bounds, decision)

    def more_extreme(share: float) -> float:
        """Grows with the share: the chance of an outcome that speaks at least as much for H1 as the one seen."""
        if decision == "passed":
            return passage.up_by(time, share)
        if decision == "regressed":
            return 1.0 - passage.down_by(time, share)
        level = min(max(ratio, bounds.lower), bounds.upper)
        return passage.up_by(blocks, share) + passage.inside_at_least(blocks, level, share)

    low, middle, high = (_invert(more_extreme, chance) for chance in (CONFIDENCE_TAIL, 0.5, 1.0 - CONFIDENCE_TAIL))
    return StoppedEstimate(middle, (low, high))


def _passage_time(blocks: int, ratio: float, bounds: Bounds, decision: Decision) -> float:
    """When the motion crossed: the test looked in steps, so the crossing lies a little before the last look."""
    crossed = {"passed": bounds.upper, "regressed": bounds.lower}.get(decision)
    if crossed is None or ratio == 0.0 or crossed / ratio <= 0.0:
        return float(blocks)
    return blocks * min(1.0, crossed / ratio)


def _invert(chance_at: Callable[[float], float], level: float) -> float:
    if chance_at(0.0) >= level:
        return 0.0
    if chance_at(1.0) <= level:
        return 1.0
    return float(brentq(lambda share: chance_at(share) - level, 0.0, 1.0, xtol=1e-13))


def _crossed_up(time: float, lower: float, upper: float, drift: float, variance: float) -> float:
    """P(the motion from 0 crosses `upper` before `lower`, by `time`)."""
    width = upper - lower
    if math.pi**2 * variance * time / (2.0 * width * width) >= 0.5:
        chance = _crossed_up_series(time, lower, upper, drift, variance)
    else:
        chance = _crossed_up_images(time, lower, upper, drift, variance)
    return min(1.0, max(0.0, chance))


def _crossed_up_series(time: float, lower: float, upper: float, drift: float, variance: float) -> float:
    width = upper - lower
    g = drift / variance
    late = 0.0
    for k in range(1, _TERMS):
        rate = drift * drift / (2.0 * variance) + k * k * math.pi**2 * variance / (2.0 * width * width)
        exponent = g * upper - rate * time
        if exponent < -745.0 and k > 1:
            break
        wave = math.sin(-k * math.pi * lower / width) * (1.0 if k % 2 else -1.0)
        late += math.pi * variance / (width * width) * k * wave * math.exp(exponent) / rate
    return ever_up(lower, upper, g) - late


def ever_up(lower: float, upper: float, g: float) -> float:
    """P(the motion from 0 ever crosses `upper` before `lower`), g the drift over the variance."""
    width = upper - lower
    if abs(g * width) < 1e-12:
        return -lower / width
    if g > 0.0:
        return math.expm1(2.0 * g * lower) / math.expm1(-2.0 * g * width)
    # The same with both exponentials multiplied by e^{2gw}, so that neither overflows.
    return math.exp(2.0 * g * upper) * math.expm1(-2.0 * g * lower) / math.expm1(2.0 * g * width)


def _crossed_up_images(time: float, lower: float, upper: float, drift: float, variance: float) -> float:
    width = upper - lower
    g, deviation = drift / variance, math.sqrt(variance * time)
    total = 0.0
    for k in range(-_IMAGES, _IMAGES + 1):
        image = upper + 2.0 * k * width
        distance = abs(image)
        near = math.exp(min(700.0, g * (upper - distance) + log_ndtr((drift * time - distance) / deviation)))
        far = math.exp(min(700.0, g * (upper + distance) + log_ndtr((-drift * time - distance) / deviation)))
        total += math.copysign(near + far, image)
    return total


def _inside_above(time: float, level: float, lower: float, upper: float, drift: float, variance: float) -> float:
    """P(no exit by `time` and the motion then at `level` or above), by images of the driftless motion."""
    width, deviation = upper - lower, math.sqrt(variance * time)
    g = drift / variance
    total = 0.0
    for k in range(-_IMAGES, _IMAGES + 1):
        for sign, start in ((1.0, 2.0 * k * width), (-1.0, 2.0 * upper + 2.0 * k * width)):
            # An image at `start` weighs e^{g start}: the drifted density is e^{g x - ...} times the driftless one.
            centre = start + drift * time
            mass = _normal_between((level - centre) / deviation, (upper - centre) / deviation)
            if mass > 0.0:
                total += sign * math.exp(min(700.0, g * start + math.log(mass)))
    return min(1.0, max(0.0, total))


def _normal_between(low: float, high: float) -> float:
    """P(low <= Z <= high) of a standard normal, taken in the lower tail: near one the difference would be rounding alone, and
    the images multiply it."""
    if low > 0.0:
        low, high = -high, -low
    return float(ndtr(high) - ndtr(low))
