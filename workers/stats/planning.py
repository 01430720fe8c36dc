"""What a sequential test will cost, before it runs: the chance to pass and the expected number of blocks.

The LLR is taken as a Brownian motion (Wald 1947), without overshoot; see `stopped` for the letters.
"""

from dataclasses import dataclass

from workers.stats.sprt import Bounds
from workers.stats.stopped import ever_up


@dataclass(frozen=True, slots=True)
class Plan:
    """`pass_chance` in [0, 1]; `expected_blocks` without a cap."""

    pass_chance: float
    expected_blocks: float


def plan(*, share: float, variance: float, s0: float, s1: float, bounds: Bounds) -> Plan:
    """The plan of a test when the candidate's true share is `share` and a block's share has `variance` (above 0)."""
    step = s1 - s0
    sigma_squared = step * step / variance
    drift = (share - (s0 + s1) / 2.0) * step / variance
    g = drift / sigma_squared
    lower, upper = bounds.lower, bounds.upper
    chance = ever_up(lower, upper, g)
    if abs(g * (upper - lower)) < 1e-4:
        # The quotient below is 0/0 here: its expansion around no drift.
        return Plan(chance, -lower * upper / sigma_squared * (1.0 + g * (lower + upper) / 3.0))
    return Plan(chance, (chance * upper + (1.0 - chance) * lower) / drift)
