"""Ratings against golden values, and the fields that have none."""

import json
from pathlib import Path
from typing import Any

import pytest

from workers.stats.ratings import Encounter, rate, unrated_reason

GOLDEN: dict[str, Any] = json.loads((Path(__file__).parents[2] / "golden" / "statistics.json").read_text())


def test_golden_bradley_terry() -> None:
    golden = GOLDEN["ratings"]
    rated = rate(3, [Encounter(i, j, 1, 1, n, 2, s1, s2) for i, j, n, s1, s2 in golden["pairs"]])
    assert rated.points == pytest.approx(golden["elo"], abs=1e-9)
    assert rated.naive_errors == pytest.approx(golden["se_naive"], abs=1e-9)
    assert rated.clustered_errors == pytest.approx(golden["se_clustered"], abs=1e-9)
    assert rated.chi_squared == pytest.approx(golden["gof_chi2"], abs=1e-9)
    assert rated.degrees == golden["df"]


def test_golden_luce_with_one_seat_against_three() -> None:
    golden = GOLDEN["luce"]
    wins = {(winner, tuple(seats.items())): count for winner, seats, count in golden["data"]}
    encounters = []
    for seats in dict.fromkeys(key[1] for key in wins):
        (one, one_seats), (other, other_seats) = seats
        won, lost = wins[int(one), seats], wins[int(other), seats]
        encounters.append(Encounter(int(one), int(other), one_seats, other_seats, won + lost, 1, won, won))
    rated = rate(3, encounters)
    assert rated.points == pytest.approx(golden["elo"], abs=1e-9)
    assert rated.naive_errors == pytest.approx(golden["se_naive"], abs=1e-9)


@pytest.mark.parametrize(
    ("encounters", "reason"),
    [
        ([Encounter(0, 1, 1, 1, 50, 2, 100, 200), Encounter(1, 2, 1, 1, 50, 2, 60, 90)], "never lost"),
        ([Encounter(0, 1, 1, 1, 50, 2, 0, 0), Encounter(1, 2, 1, 1, 50, 2, 60, 90)], "never lost or never won"),
        ([Encounter(0, 1, 1, 1, 50, 2, 60, 90)], "never met"),
    ],
)
def test_fields_without_ratings_say_why(encounters: list[Encounter], reason: str) -> None:
    said = unrated_reason(3, encounters)
    assert said is not None
    assert reason in said


def test_a_lopsided_field_converges() -> None:
    encounters = [Encounter(0, 1, 1, 1, 10**9, 2, 2 * 10**9 - 1, 4 * 10**9 - 3), Encounter(1, 2, 1, 1, 1000, 2, 3, 3)]
    assert unrated_reason(3, encounters) is None
    rated = rate(3, encounters)
    assert rated.points[0] > rated.points[1] < rated.points[2]
    assert sum(rated.points) == pytest.approx(0.0, abs=1e-6)
