"""`blockyard sprt` and `plan` against golden values, at degenerate histograms, and refused by option."""

import json
import math
from fractions import Fraction
from pathlib import Path
from typing import Any

import orjson
import pytest

from service.cli import sprt as module
from tests.service.cli.conftest import Command

GOLDEN: dict[str, Any] = json.loads((Path(__file__).parents[2] / "golden" / "statistics.json").read_text())
DECISIONS = {"H1": "passed", "H0": "regressed", "continue": "undecided"}
FIELDS = ["llr", "lower", "upper", "verdict", "blocks", "share", "share_ci95", "elo"]
GOOD = {"--players": "2", "--blocks": "21,950,29", "--h0": "-0.01", "--h1": "0"}


def options(values: dict[str, str]) -> list[str]:
    return [f"{option}={value}" for option, value in values.items()]


@pytest.mark.parametrize("case", GOLDEN["block_llr"], ids=lambda case: str(case["block_win_histogram"]))
def test_golden_histograms(blockyard: Command, case: dict[str, Any]) -> None:
    equal = Fraction(1, case["n"])
    h0, h1 = (float(Fraction(case[share]) - equal) for share in ("s0", "s1"))
    blocks = ",".join(map(str, case["block_win_histogram"]))
    said = blockyard("sprt", f"--players={case['n']}", f"--blocks={blocks}", f"--h0={h0!r}", f"--h1={h1!r}", "--json")
    assert said.code == 0, said.err
    found = orjson.loads(said.out)
    assert list(found) == FIELDS
    assert found["llr"] == pytest.approx(case["llr_exact"], rel=1e-9, abs=1e-9)
    assert found["verdict"] == DECISIONS[case["verdict_0.05_0.05"]]
    assert found["blocks"] == case["N"]
    assert found["lower"] == pytest.approx(-math.log(19), abs=1e-12)
    assert found["upper"] == pytest.approx(math.log(19), abs=1e-12)
    if case["mean"] is not None:
        assert found["share"] == pytest.approx(case["mean"], abs=1e-12)
    if case["ci95"] is not None:
        assert found["share_ci95"] == pytest.approx(case["ci95"], abs=1e-9)


@pytest.mark.parametrize("case", GOLDEN["bounds"], ids=lambda case: f"{case['alpha']}-{case['beta']}")
def test_golden_bounds(blockyard: Command, case: dict[str, Any]) -> None:
    said = blockyard("sprt", *options(GOOD), f"--alpha={case['alpha']}", f"--beta={case['beta']}", "--json")
    found = orjson.loads(said.out)
    assert found["lower"] == pytest.approx(case["lower"], abs=1e-12)
    assert found["upper"] == pytest.approx(case["upper"], abs=1e-12)


@pytest.mark.parametrize(
    ("blocks", "share", "interval", "elo"),
    [("0,0,0", None, [0, 1], None), ("0,0,1", 1, [0, 1], None), ("0,0,100", 1, None, None), ("100,0,0", 0, None, None),
     ("0,100,0", 0.5, None, 0)],
)  # fmt: skip
def test_degenerate_histograms(blockyard: Command, blocks: str, share: float | None, interval: Any, elo: Any) -> None:
    said = blockyard("sprt", *options(GOOD | {"--blocks": blocks}), "--json")
    found = orjson.loads(said.out)
    assert (said.code, found["share"], found["elo"]) == (0, share, elo)
    if interval is not None:
        assert found["share_ci95"] == interval
    assert blockyard("sprt", *options(GOOD | {"--blocks": blocks})).code == 0


def test_the_table_says_what_the_json_says(blockyard: Command) -> None:
    said = blockyard("sprt", *options(GOOD))
    assert said.code == 0
    assert "1,000" in said.out
    assert "passed" in said.out
    assert max(map(len, said.out.splitlines())) <= 80


@pytest.mark.parametrize("case", GOLDEN["planning"], ids=lambda case: f"{case['true_share']}-{case['block_var']}")
def test_golden_plans(blockyard: Command, case: dict[str, Any]) -> None:
    players = 2 if case["s1"] == 0.5 else round(1 / max(case["s0"], case["s1"]))
    h0, h1 = case["s0"] - 1 / players, case["s1"] - 1 / players
    said = blockyard(
        "plan", f"--players={players}", f"--h0={h0!r}", f"--h1={h1!r}", f"--variance={case['block_var']}",
        f"--share={case['true_share']!r}", f"--alpha={case['alpha']}", f"--beta={case['beta']}", "--speed=1000", "--json",
    )  # fmt: skip
    assert said.code == 0, said.err
    found = orjson.loads(said.out)
    assert found["pass_chance"] == pytest.approx(case["pass_prob"], rel=1e-9)
    assert found["expected_blocks"] == pytest.approx(case["expected_blocks"], rel=1e-9)
    assert found["expected_matches"] == pytest.approx(case["expected_blocks"] * players, rel=1e-9)
    assert found["expected_seconds"] == pytest.approx(case["expected_blocks"] * players / 1000, rel=1e-9)


def test_a_plan_takes_an_equal_candidate_and_independent_matches(blockyard: Command) -> None:
    plan = ("plan", "--players=4", "--h0=-0.01", "--h1=0", "--speed=500000")
    found = orjson.loads(blockyard(*plan, "--json").out)
    assert (found["share"], found["variance"]) == (0.25, 0.25 * 0.75 / 4)
    assert found["pass_chance"] == pytest.approx(0.95)
    said = blockyard(*plan)
    assert (said.code, "95.00 %" in said.out) == (0, True)


def test_a_plan_without_a_speed_does_not_wait_for_a_compiler(blockyard: Command, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("workers.engine.compile.is_cold", lambda _kernel: True)
    monkeypatch.setattr(module, "usable_cores", lambda: 3)
    said = blockyard("plan", "--players=2", "--h0=-0.01", "--h1=0", "--json")
    assert (said.code, orjson.loads(said.out)["matches_per_second"]) == (0, 3 * module.ASSUMED_SPEED)
    assert "not measured" in said.err


@pytest.mark.parametrize(
    ("changes", "reason"),
    [
        ({"--blocks": "1,2"}, "--blocks: must be 3 numbers for 2 players (0 to 2 matches won), not 2"),
        ({"--blocks": "1,2,3,4"}, "--blocks: must be 3 numbers for 2 players (0 to 2 matches won), not 4"),
        ({"--players": "4"}, "--blocks: must be 5 numbers for 4 players (0 to 4 matches won), not 3"),
        ({"--blocks": "1,-2,3"}, "--blocks: '-2' is no whole number"),
        ({"--blocks": "1,2.5,3"}, "--blocks: '2.5' is no whole number"),
        ({"--blocks": "1,,3"}, "--blocks: '' is no whole number"),
        ({"--blocks": "1,2," + "9" * 5000}, "is no whole number"),
        ({"--players": "1"}, "--players"),
        ({"--h0": "0.1"}, "--h0: must be below --h1 (0), not 0.1"),
        ({"--h0": "-0.5"}, "--h0: makes a share of 0, which must lie between 0 and 1"),
        ({"--h1": "0.5"}, "--h1: makes a share of 1"),
        ({"--h1": "nan"}, "--h1: makes a share of nan"),
        ({"--alpha": "0"}, "--alpha: must be above 0 and below 0.5, not 0"),
        ({"--beta": "0.5"}, "--beta: must be above 0 and below 0.5, not 0.5"),
    ],
)
def test_what_cannot_be_is_refused_by_option(blockyard: Command, changes: dict[str, str], reason: str) -> None:
    said = blockyard("sprt", *options(GOOD | changes), "--json")
    assert (said.code, said.out) == (2, "")
    assert reason in said.err
    assert said.err.count("\n") == 1


@pytest.mark.parametrize("option", ["--variance=0", "--variance=0.26", "--share=0", "--share=1", "--speed=0", "--speed=nan"])
def test_what_cannot_be_planned_is_refused_by_option(blockyard: Command, option: str) -> None:
    said = blockyard("plan", "--players=2", "--h0=-0.01", "--h1=0", option)
    assert (said.code, said.out) == (2, "")
    assert f"{option.partition('=')[0]}: must be above 0" in said.err
