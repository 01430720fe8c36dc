"""Estimates against golden values computed at 40 digits, and at the edges where no interval exists."""

import json
import math
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from workers.stats.estimate import Estimate, Moments, elo, margin_estimate, share_estimate

GOLDEN: dict[str, Any] = json.loads((Path(__file__).parents[2] / "golden" / "statistics.json").read_text())


@pytest.mark.parametrize("case", GOLDEN["block_llr"], ids=lambda case: str(case["block_win_histogram"]))
def test_share_of_golden_histograms(case: dict[str, Any]) -> None:
    scores = dict(enumerate(case["block_win_histogram"]))
    estimate = share_estimate(scores, case["n"])
    assert Moments.of_histogram(scores) == Moments(case["N"], case["S1"], case["S2"])
    assert estimate.mean == pytest.approx(case["mean"], abs=1e-12)
    assert estimate.interval == pytest.approx(tuple(case["ci95"]), abs=1e-9)
    if case["se"] is None:
        assert estimate.standard_error is None
    else:
        assert estimate.standard_error == pytest.approx(case["se"], abs=1e-12)
        assert Moments.of_histogram(scores).variance(case["n"]) == pytest.approx(case["var_unbiased"], abs=1e-12)


@pytest.mark.parametrize("case", GOLDEN["margin_block"], ids=lambda case: f"N={case['N']}")
def test_margin_of_golden_sums(case: dict[str, Any]) -> None:
    estimate = margin_estimate(Moments(case["N"], case["S1"], case["S2"]), players=2, rotations=2)
    assert case["scale"] == 2
    variance = Moments(case["N"], case["S1"], case["S2"]).variance(case["scale"])
    assert variance == pytest.approx(case["var_unbiased"], rel=1e-12)
    assert estimate.mean == pytest.approx(case["mean"], abs=1e-12)
    assert estimate.standard_error == pytest.approx(case["se"], abs=1e-12)


@pytest.mark.parametrize("case", GOLDEN["elo"], ids=lambda case: f"{case['share']}-{case['n']}")
def test_elo_of_golden_shares(case: dict[str, Any]) -> None:
    assert elo(case["share"], case["n"]) == pytest.approx(case["elo"], abs=1e-9)


def test_elo_is_none_where_it_is_infinite() -> None:
    assert elo(0.0, 2) is None
    assert elo(1.0, 2) is None


def test_no_blocks_and_one_block_say_nothing_about_the_share() -> None:
    assert share_estimate({}, 2) == Estimate(None, None, (0.0, 1.0))
    one = share_estimate({2: 1}, 2)
    assert (one.mean, one.standard_error, one.interval) == (1.0, None, (0.0, 1.0))


def test_margin_has_no_interval_without_variance() -> None:
    assert margin_estimate(Moments(0, 0, 0), 2, 2).mean is None
    assert margin_estimate(Moments(1, 6, 36), 2, 2).interval is None
    assert margin_estimate(Moments(5, 30, 180), 2, 2).interval is None


def test_sums_far_beyond_64_bits_stay_exact() -> None:
    # Half of 10^12 blocks score 0 and half score 2: the variance of the share is exactly 1/4 * N / (N - 1).
    blocks = 10**12
    estimate = share_estimate({0: blocks // 2, 2: blocks // 2}, 2)
    assert estimate.mean == 0.5
    assert estimate.standard_error == pytest.approx(math.sqrt(0.25 / (blocks - 1)), rel=1e-12)


@given(st.dictionaries(st.integers(0, 4), st.integers(1, 10**6), min_size=1))
def test_interval_holds_the_mean_and_stays_a_share(scores: dict[int, int]) -> None:
    estimate = share_estimate(scores, 4)
    assert estimate.interval is not None
    assert estimate.mean is not None
    low, high = estimate.interval
    assert 0.0 <= low <= estimate.mean <= high <= 1.0
