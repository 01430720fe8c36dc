"""The sequential test on block scores: an exact multinomial generalised likelihood ratio (Van den Bergh's GSPRT notes).

A block's score a in {0, 1/U, ..., 1} is an observation with unknown probabilities. For a hypothesised share s the
likelihood is maximised over all distributions on the support whose mean is s; LLR compares s1 with s0. The support always
holds the end points 0 and 1, so that a histogram without any variance still has a likelihood under both hypotheses:
variance-based ratios call nearly identical policies regressed far too often.
"""

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Final, Literal, TypeAlias

from scipy.optimize import brentq

Decision: TypeAlias = Literal["passed", "regressed", "undecided"]

LOOK_STEP: Final = 256
"""Looks lie on multiples of this many blocks: smaller steps let the error levels drift."""
LOOKS_AT_MOST: Final = 1000
"""A cap of blocks is looked at in at most about this many steps."""
_ROOT_TOLERANCE: Final = 1e-15


@dataclass(frozen=True, slots=True)
class Bounds:
    """Wald's bounds of the LLR: at `lower` or less H0 is decided, at `upper` or more H1."""

    lower: float
    upper: float

    @classmethod
    def of_errors(cls, alpha: float, beta: float) -> "Bounds":
        """`alpha` is the chance to pass a candidate at s0, `beta` the chance to flag one at s1; both in (0, 1)."""
        return cls(math.log(beta / (1.0 - alpha)), math.log((1.0 - beta) / alpha))

    def decide(self, llr: float) -> Decision:
        """What an LLR decides: H1 passes, H0 is a regression."""
        if llr >= self.upper:
            return "passed"
        return "regressed" if llr <= self.lower else "undecided"


def log_likelihood_ratio(scores: Mapping[int, int], units: int, s0: float, s1: float) -> float:
    """LL(s1) - LL(s0) of a histogram of block scores (0 to `units`, value -> count); 0 without blocks.

    `s0` and `s1` are shares strictly between 0 and 1.
    """
    return _log_likelihood(scores, units, s1) - _log_likelihood(scores, units, s0)


def look_step(cap_blocks: int) -> int:
    """Blocks between looks: the smallest multiple of 256 that is at least a thousandth of the cap."""
    return LOOK_STEP * max(1, -(-cap_blocks // (LOOKS_AT_MOST * LOOK_STEP)))


def _log_likelihood(scores: Mapping[int, int], units: int, share: float) -> float:
    """The maximised log likelihood at mean `share`, less that of the observed frequencies."""
    seen = sorted((value, count) for value, count in scores.items() if count)
    if not seen:
        return 0.0
    blocks = sum(count for _, count in seen)
    if len(seen) == 1:
        return _constant_log_likelihood(seen[0][0] / units, blocks, share)
    offsets = [(value / units - share, count) for value, count in seen]
    theta = _tilt([(offset, count / blocks) for offset, count in offsets], share, seen[0][0] > 0, seen[-1][0] < units)
    return -math.fsum(count * math.log1p(theta * offset) for offset, count in offsets)


def _constant_log_likelihood(score: float, blocks: int, share: float) -> float:
    """All blocks score the same: the rest of the mass sits at the end point that pulls the mean to `share`."""
    if share <= score:
        return blocks * math.log(share / score)
    return blocks * math.log((1.0 - share) / (1.0 - score))


def _tilt(offsets: list[tuple[float, float]], share: float, zero_unseen: bool, one_unseen: bool) -> float:
    """The root of f(theta) = sum p (a - s) / (1 + theta (a - s)), falling on [-1/(1-s), 1/s].

    Where an end point of the support was never observed f stays finite there, and the root may lie at that end.
    """
    low, high = -1.0 / (1.0 - share), 1.0 / share

    def slope(theta: float) -> float:
        return math.fsum(weight * offset / (1.0 + theta * offset) for offset, weight in offsets)

    if one_unseen and slope(low) <= 0.0:
        return low
    if zero_unseen and slope(high) >= 0.0:
        return high
    # An observed end point makes f infinite at its end: step inside far enough for a finite value of the right sign.
    width = high - low
    inner_low = low if one_unseen else _inside(slope, low, width, 1.0)
    inner_high = high if zero_unseen else _inside(slope, high, -width, -1.0)
    return float(brentq(slope, inner_low, inner_high, xtol=_ROOT_TOLERANCE, rtol=4 * math.ulp(1.0), maxiter=500))


def _inside(slope: Callable[[float], float], end: float, width: float, sign: float) -> float:
    """A point just inside `end` where the slope already has the sign of its pole."""
    fraction = 2.0**-1
    while True:
        theta = end + width * fraction
        if theta != end and sign * slope(theta) > 0.0:
            return theta
        fraction /= 2.0
