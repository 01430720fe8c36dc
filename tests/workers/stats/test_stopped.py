"""Estimates after stopping and plans before it: golden values, then bounds of unequal errors against simulated motions."""

import json
import math
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from workers.stats.estimate import Moments
from workers.stats.planning import plan
from workers.stats.sprt import Bounds, Decision, log_likelihood_ratio
from workers.stats.stopped import stopped_estimate

GOLDEN: dict[str, Any] = json.loads((Path(__file__).parents[2] / "golden" / "statistics.json").read_text())
DECISIONS: dict[str, Decision] = {"H1": "passed", "H0": "regressed", "continue": "undecided"}


@pytest.mark.parametrize("case", GOLDEN["post_stop"], ids=lambda case: case["verdict"])
def test_golden_estimates_after_stopping(case: dict[str, Any]) -> None:
    estimate = stopped_estimate(
        blocks=sum(case["block_win_histogram"]),
        mean=case["mean"],
        variance=case["var_pop"],
        s0=float(Fraction(case["s0"])),
        s1=float(Fraction(case["s1"])),
        bounds=Bounds.of_errors(case["alpha"], case["beta"]),
        decision=DECISIONS[case["verdict"]],
    )
    scores, shares = dict(enumerate(case["block_win_histogram"])), [float(Fraction(case[name])) for name in ("s0", "s1")]
    moments = Moments.of_histogram(scores)
    assert moments.mean(case["n"]) == pytest.approx(case["mean"], abs=1e-12)
    variance = moments.variance(case["n"])
    assert variance is not None
    assert variance * (1 - 1 / moments.blocks) == pytest.approx(case["var_pop"], abs=1e-12)
    assert log_likelihood_ratio(scores, case["n"], *shares) == pytest.approx(case["llr_exact"], abs=1e-9)
    assert estimate.share == pytest.approx(case["estimate"], abs=1e-9)
    assert estimate.interval == pytest.approx((case["lo95"], case["hi95"]), abs=1e-9)


@pytest.mark.parametrize("case", GOLDEN["planning"], ids=lambda case: f"{case['true_share']}-{case['block_var']}")
def test_golden_plans(case: dict[str, Any]) -> None:
    made = plan(
        share=case["true_share"],
        variance=case["block_var"],
        s0=case["s0"],
        s1=case["s1"],
        bounds=Bounds.of_errors(case["alpha"], case["beta"]),
    )
    assert made.pass_chance == pytest.approx(case["pass_prob"], abs=1e-9)
    assert made.expected_blocks == pytest.approx(case["expected_blocks"], rel=1e-9)


def stop_simulated(share: float, bounds: Bounds, runs: int, seed: int) -> list[tuple[Decision, int, float]]:
    """Simulated tests with normal block shares of variance V, looked at after every block: decision, blocks, mean."""
    random = np.random.default_rng(seed)
    v, s0, s1, cap = 0.05, 0.44, 0.5, 4000
    stopped: list[tuple[Decision, int, float]] = []
    for _ in range(runs):
        sums = np.cumsum(random.normal(share, math.sqrt(v), cap))
        ratios = (s1 - s0) * (2 * sums - np.arange(1, cap + 1) * (s0 + s1)) / (2 * v)
        crossed = np.flatnonzero((ratios >= bounds.upper) | (ratios <= bounds.lower))
        assert crossed.size, "the cap is far beyond the expected length"
        at = int(crossed[0])
        stopped.append(("passed" if ratios[at] >= bounds.upper else "regressed", at + 1, float(sums[at] / (at + 1))))
    return stopped


@pytest.mark.parametrize(("alpha", "beta"), [(0.20, 0.02), (0.02, 0.20)])
def test_unequal_errors_keep_the_median_and_the_coverage(alpha: float, beta: float) -> None:
    # With the bounds not mirrored for H0 these figures leave the tolerance on one side or the other.
    bounds, share, runs = Bounds.of_errors(alpha, beta), 0.475, 400
    below = covered = 0
    for decision, blocks, mean in stop_simulated(share, bounds, runs, seed=5):
        estimate = stopped_estimate(
            blocks=blocks, mean=mean, variance=0.05, s0=0.44, s1=0.5, bounds=bounds, decision=decision
        )
        below += estimate.share < share
        covered += estimate.interval[0] <= share <= estimate.interval[1]
    assert abs(below / runs - 0.5) < 4 * math.sqrt(0.25 / runs)
    assert covered / runs > 0.95 - 4 * math.sqrt(0.95 * 0.05 / runs)


@pytest.mark.parametrize(("alpha", "beta"), [(0.20, 0.02), (0.02, 0.20)])
def test_a_plan_predicts_simulated_tests(alpha: float, beta: float) -> None:
    bounds, share, runs = Bounds.of_errors(alpha, beta), 0.475, 400
    made = plan(share=share, variance=0.05, s0=0.44, s1=0.5, bounds=bounds)
    stopped = stop_simulated(share, bounds, runs, seed=6)
    passed = sum(decision == "passed" for decision, _, _ in stopped) / runs
    assert abs(passed - made.pass_chance) < 4 * math.sqrt(made.pass_chance * (1 - made.pass_chance) / runs)
    lengths = np.array([blocks for _, blocks, _ in stopped])
    # Overshoot lengthens a discrete walk a little, hence the tenth.
    assert abs(lengths.mean() - made.expected_blocks) < 4 * lengths.std() / math.sqrt(runs) + 0.1 * made.expected_blocks


@pytest.mark.parametrize("sign", [1, -1])
def test_a_plan_around_no_drift_meets_the_plan_beside_it(sign: int) -> None:
    # The expansion holds up to a drift of 1e-4 of the bounds' width; beyond it is the quotient. With unequal errors its linear
    # term is a hundred thousandth of the whole.
    bounds = Bounds.of_errors(0.20, 0.02)
    width = bounds.upper - bounds.lower
    inside, outside = (
        plan(share=0.495 + sign * reach * 1e-4 / width * 0.01, variance=0.1, s0=0.49, s1=0.5, bounds=bounds)
        for reach in (0.99, 1.01)
    )
    assert inside.expected_blocks == pytest.approx(outside.expected_blocks, rel=1e-6)
    assert inside.pass_chance == pytest.approx(outside.pass_chance, rel=1e-5)


def test_an_undecided_test_near_a_bound_is_estimated_in_the_tails() -> None:
    # Worked out with forty digits. Where far tails are differences of numbers next to one, the low end comes out 0.00012 low.
    estimate = stopped_estimate(
        blocks=4096, mean=0.4923, variance=0.025, s0=0.5, s1=0.502, bounds=Bounds.of_errors(0.05, 0.05), decision="undecided"
    )
    assert estimate.share == pytest.approx(0.492444770537392, abs=1e-10)
    assert estimate.interval == pytest.approx((0.487577940230956, 0.497324487627064), abs=1e-10)


def test_no_variance_gives_the_plain_share() -> None:
    estimate = stopped_estimate(
        blocks=146, mean=0.5, variance=0.0, s0=0.49, s1=0.5, bounds=Bounds.of_errors(0.05, 0.05), decision="passed"
    )
    assert estimate.share == 0.5
    assert estimate.interval == pytest.approx((0.4875251119440261, 0.512474888055974), abs=1e-12)


@pytest.mark.parametrize(
    ("mean", "variance", "decision"), [(0.495, 0.1, "undecided"), (0.49, 0.1, "regressed"), (0.6, 0.1, "passed")]
)
def test_a_million_million_blocks(mean: float, variance: float, decision: Decision) -> None:
    estimate = stopped_estimate(
        blocks=10**12, mean=mean, variance=variance, s0=0.49, s1=0.5, bounds=Bounds.of_errors(0.05, 0.05), decision=decision
    )
    low, high = estimate.interval
    assert 0.0 < low < estimate.share < high < 1.0


@pytest.mark.parametrize(("blocks", "mean"), [(1, 0.0), (1, 1.0), (10**12, 0.0), (10**12, 1.0)])
def test_everything_won_and_everything_lost(blocks: int, mean: float) -> None:
    estimate = stopped_estimate(
        blocks=blocks, mean=mean, variance=0.0, s0=0.49, s1=0.5, bounds=Bounds.of_errors(0.05, 0.05), decision="undecided"
    )
    assert estimate.share == mean
    assert 0.0 <= estimate.interval[0] <= mean <= estimate.interval[1] <= 1.0
    # The far end is where 2.5 % of so many blocks would all have come out alike.
    assert (1 - abs(estimate.interval[0] + estimate.interval[1] - mean - mean)) ** blocks == pytest.approx(0.025, rel=1e-3)
