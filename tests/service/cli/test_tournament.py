"""A field of a tournament as it is printed: best first, at 80 columns, with or without ratings."""

from typing import Any

import pytest

from service.cli.tournament import print_field


def field(count: int, *, rated: bool = True) -> dict[str, Any]:
    """A field in which policy i is the better the greater i is."""
    policies: list[Any] = [{"prefer": ["double", "heaviest"]}, *(f"policy{number}" for number in range(1, count))]
    return {
        "ruleset": "block", "players": 2, "policies": policies,
        "win_shares": [
            [None if one == other else 0.5 + (one - other) / 100 for other in range(count)] for one in range(count)
        ],
        "ratings": {
            "policies": [
                {"policy": policy, "points": 10.0 * place, "standard_error": 1.0, "ci95": [10.0 * place - 2, 10.0 * place + 2]}
                for place, policy in enumerate(policies)
            ],
            "chi_squared": 6212.3, "degrees": 21,
        } if rated else None,
        "unrated": None if rated else "the field falls into parts that never met",
    }  # fmt: skip


def test_the_best_comes_first_and_meets_the_others_in_that_order(capsys: pytest.CaptureFixture[str]) -> None:
    print_field(field(3))
    printed = capsys.readouterr()
    rows = [line.split() for line in printed.out.splitlines() if line[:2].strip().isdigit()]
    assert rows[0] == ["1", "policy2", "+20.0", "2.0"]
    assert rows[2] == ["3", "prefer", "double,", "heaviest", "+0.0", "2.0"]
    assert rows[3] == ["1", "policy2", "51.0", "52.0"]
    assert rows[4] == ["2", "policy1", "49.0", "51.0"]
    assert rows[5][-2:] == ["48.0", "49.0"]
    assert "chi-squared 6,212 on 21 degrees" in printed.err
    assert printed.err.count("\n") == 1


def test_without_ratings_the_matrix_stands_in_the_order_of_the_field(capsys: pytest.CaptureFixture[str]) -> None:
    print_field(field(2, rated=False))
    printed = capsys.readouterr()
    assert "rating" not in printed.out
    assert printed.out.startswith("block, 2 players\n")
    assert printed.out.index("prefer double") < printed.out.index("policy1")
    assert printed.err == "no ratings: the field falls into parts that never met\n"


def test_a_large_field_fits_eighty_columns(capsys: pytest.CaptureFixture[str]) -> None:
    print_field(field(20))
    lines = capsys.readouterr().out.splitlines()
    assert max(map(len, lines)) <= 80
    assert sum("policy19" in line for line in lines) == 4
