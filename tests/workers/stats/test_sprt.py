"""The likelihood ratio, its bounds and the looks, against golden values and at degenerate histograms."""

import json
import math
from decimal import Decimal, localcontext
from fractions import Fraction
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from workers.stats.sprt import Bounds, log_likelihood_ratio, look_step

GOLDEN: dict[str, Any] = json.loads((Path(__file__).parents[2] / "golden" / "statistics.json").read_text())
DECISIONS = {"H1": "passed", "H0": "regressed", "continue": "undecided"}


@pytest.mark.parametrize("case", GOLDEN["block_llr"], ids=lambda case: str(case["block_win_histogram"]))
def test_golden_ratios_and_their_decisions(case: dict[str, Any]) -> None:
    scores = dict(enumerate(case["block_win_histogram"]))
    s0, s1 = float(Fraction(case["s0"])), float(Fraction(case["s1"]))
    ratio = log_likelihood_ratio(scores, case["n"], s0, s1)
    assert ratio == pytest.approx(case["llr_exact"], rel=1e-9, abs=1e-9)
    assert Bounds.of_errors(0.05, 0.05).decide(ratio) == DECISIONS[case["verdict_0.05_0.05"]]


@pytest.mark.parametrize("case", GOLDEN["bounds"], ids=lambda case: f"{case['alpha']}-{case['beta']}")
def test_golden_bounds(case: dict[str, Any]) -> None:
    bounds = Bounds.of_errors(case["alpha"], case["beta"])
    assert bounds.lower == pytest.approx(case["lower"], abs=1e-12)
    assert bounds.upper == pytest.approx(case["upper"], abs=1e-12)


@pytest.mark.parametrize(("scores", "sign"), [({2: 1}, 1), ({0: 1}, -1), ({2: 10**12}, 1), ({0: 10**12}, -1)])
def test_everything_won_and_everything_lost(scores: dict[int, int], sign: int) -> None:
    ratio = log_likelihood_ratio(scores, 2, 0.49, 0.5)
    assert math.copysign(1, ratio) == sign
    assert math.isfinite(ratio)


def test_a_million_million_blocks() -> None:
    # Scaling a histogram scales its ratio: the weights of the likelihood are frequencies.
    small = log_likelihood_ratio({0: 65183, 1: 175189, 2: 59628}, 2, 0.49, 0.5)
    factor = 10**7
    large = log_likelihood_ratio({0: 65183 * factor, 1: 175189 * factor, 2: 59628 * factor}, 2, 0.49, 0.5)
    assert large == pytest.approx(small * factor, rel=1e-9)


def literal_ratio(scores: dict[int, int], units: int, s0: float, s1: float) -> Decimal:
    """The ratio from its definition, at 60 digits, the root by bisection."""
    with localcontext() as context:
        context.prec = 60
        return _literal(scores, units, Decimal(s1)) - _literal(scores, units, Decimal(s0))


def _literal(scores: dict[int, int], units: int, share: Decimal) -> Decimal:
    cells = [(Decimal(value) / units - share, Decimal(count)) for value, count in scores.items() if count]

    def slope(theta: Decimal) -> Decimal:
        return sum((count * offset / (1 + theta * offset) for offset, count in cells), Decimal(0))

    inside = 1 - Decimal(10) ** -50  # at the very ends an observed end point divides by nothing
    low, high = -inside / (1 - share), inside / share
    if slope(low) <= 0 or slope(high) >= 0:
        low = high = low if slope(low) <= 0 else high
    for _ in range(180):
        middle = (low + high) / 2
        low, high = (middle, high) if slope(middle) > 0 else (low, middle)
    return -sum((count * (1 + low * offset).ln() for offset, count in cells), Decimal(0))


@pytest.mark.parametrize(
    "scores",
    [
        {0: 217_276_666_666, 1: 583_963_333_334, 2: 198_760_000_000},
        {0: 255_000_000_000, 1: 500_000_000_003, 2: 244_999_999_997},
        {0: 1, 1: 10**12}, {1: 10**12, 2: 3}, {0: 10**12, 2: 1}, {0: 10**12 // 2, 2: 10**12 // 2}, {0: 21, 1: 950, 2: 29},
    ],
    ids=str,
)  # fmt: skip
def test_a_million_million_blocks_have_the_ratio_of_the_definition(scores: dict[int, int]) -> None:
    # The bounds are about 3: an error of 1e-5 decides nothing.
    literal = float(literal_ratio(scores, 2, 0.49, 0.5))
    assert log_likelihood_ratio(scores, 2, 0.49, 0.5) == pytest.approx(literal, rel=1e-12, abs=1e-5)


@given(
    st.dictionaries(st.integers(0, 4), st.integers(1, 10**9), min_size=1),
    st.floats(0.01, 0.98),
    st.floats(0.005, 0.3),
)
def test_the_ratio_is_finite_and_turns_with_the_hypotheses(scores: dict[int, int], s0: float, difference: float) -> None:
    s1 = min(0.99, s0 + difference)
    ratio = log_likelihood_ratio(scores, 4, s0, s1)
    assert math.isfinite(ratio)
    assert log_likelihood_ratio(scores, 4, s1, s0) == pytest.approx(-ratio, rel=1e-12)
    mirrored = {4 - value: count for value, count in scores.items()}
    assert log_likelihood_ratio(mirrored, 4, 1 - s0, 1 - s1) == pytest.approx(ratio, rel=1e-6, abs=1e-6)


@pytest.mark.parametrize(("cap", "step"), [(1, 256), (256_000, 256), (256_001, 512), (10_000_000, 10_240)])
def test_looks_are_a_thousandth_of_the_cap_in_steps_of_256(cap: int, step: int) -> None:
    assert look_step(cap) == step
