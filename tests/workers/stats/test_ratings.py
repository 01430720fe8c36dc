"""Ratings against golden values, and the fields that have none."""

import json
import math
from collections.abc import Sequence
from itertools import combinations, permutations
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest
from scipy.optimize import minimize

from workers.stats.ratings import POINTS_A_UNIT, Encounter, rate, unrated_reason
from workers.stats.tally import CLUSTERS

GOLDEN: dict[str, Any] = json.loads((Path(__file__).parents[2] / "golden" / "statistics.json").read_text())


def test_golden_bradley_terry() -> None:
    golden = GOLDEN["ratings"]
    rated = rate(3, [Encounter(i, j, 1, 1, n, 2 * n, s1, s2) for i, j, n, s1, s2 in golden["pairs"]])
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
        encounters.append(Encounter(int(one), int(other), one_seats, other_seats, won + lost, won + lost, won, won))
    rated = rate(3, encounters)
    assert rated.points == pytest.approx(golden["elo"], abs=1e-9)
    assert rated.naive_errors == pytest.approx(golden["se_naive"], abs=1e-9)


@pytest.mark.parametrize(
    ("encounters", "reason"),
    [
        ([Encounter(0, 1, 1, 1, 50, 100, 100, 200), Encounter(1, 2, 1, 1, 50, 100, 60, 90)], "never lost"),
        ([Encounter(0, 1, 1, 1, 50, 100, 0, 0), Encounter(1, 2, 1, 1, 50, 100, 60, 90)], "never lost or never won"),
        ([Encounter(0, 1, 1, 1, 50, 100, 60, 90)], "never met"),
    ],
)
def test_fields_without_ratings_say_why(encounters: list[Encounter], reason: str) -> None:
    said = unrated_reason(3, encounters)
    assert said is not None
    assert reason in said


def test_a_lopsided_field_converges() -> None:
    encounters = [
        Encounter(0, 1, 1, 1, 10**9, 2 * 10**9, 2 * 10**9 - 1, 4 * 10**9 - 3),
        Encounter(1, 2, 1, 1, 1000, 2000, 3, 3),
    ]
    assert unrated_reason(3, encounters) is None
    rated = rate(3, encounters)
    assert rated.points[0] > rated.points[1] < rated.points[2]
    assert sum(rated.points) == pytest.approx(0.0, abs=1e-6)


def test_two_policies_differ_by_the_logarithm_of_their_odds() -> None:
    rated = rate(2, [Encounter(0, 1, 1, 1, 500, 1000, 640, 1000)])
    assert rated.points[0] - rated.points[1] == pytest.approx(400 * math.log10(0.64 / 0.36), abs=1e-9)
    assert rated.naive_errors[0] == pytest.approx(POINTS_A_UNIT / 2 / math.sqrt(1000 * 0.64 * 0.36), abs=1e-9)
    against_a_field = rate(2, [Encounter(0, 1, 1, 3, 500, 2000, 640, 1000)])
    # One seat in four wins 32 %: odds of 0.32 / 0.68 where equal policies have 1 / 3.
    assert against_a_field.points[0] - against_a_field.points[1] == pytest.approx(400 * math.log10(3 * 0.32 / 0.68), abs=1e-9)


def test_shared_wins_count_by_their_part() -> None:
    whole = rate(2, [Encounter(0, 1, 1, 1, 500, 1000, 640, 1000)])
    in_sixths = rate(2, [Encounter(0, 1, 1, 1, 500, 1000, 640 * 6, 1000 * 36, 6)])
    assert in_sixths == whole


@pytest.mark.parametrize("seed", range(3))
def test_ratings_maximise_the_likelihood(seed: int) -> None:
    random = np.random.default_rng(seed)
    encounters = [
        Encounter(one, other, 1, seats, 400, 400, wins, wins)
        for seats in (1, 2)
        for one, other in permutations(range(5), 2)
        for wins in [int(random.integers(1, 399))]
    ]

    def loss(worth: np.ndarray[Any, np.dtype[np.float64]]) -> float:
        logits = [worth[met.one] - worth[met.other] - math.log(met.other_seats) for met in encounters]
        return sum(
            met.wins * math.log1p(math.exp(-logit)) + (met.matches - met.wins) * math.log1p(math.exp(logit))
            for met, logit in zip(encounters, logits, strict=True)
        )

    found = minimize(loss, np.zeros(5), method="BFGS", options={"gtol": 1e-4})
    assert rate(5, encounters).points == pytest.approx((found.x - found.x.mean()) * POINTS_A_UNIT, abs=1e-3)


# Common deals


def played_together(scores: npt.NDArray[np.int64], pairs: Sequence[tuple[int, int]]) -> list[Encounter]:
    """Encounters of 2-match blocks on common deals: scores [pairs, blocks] of the first policy of each pair."""
    blocks = scores.shape[1]
    clusters = [[int(row[cluster::CLUSTERS].sum()) for cluster in range(min(CLUSTERS, blocks))] for row in scores]
    return [
        Encounter(one, other, 1, 1, blocks, 2 * blocks, int(row.sum()), int((row * row).sum()), 1, tuple(sums))
        for (one, other), row, sums in zip(pairs, scores, clusters, strict=True)
    ]


TRIANGLE = [(0, 1), (0, 2), (1, 2)]


def test_few_blocks_are_clusters_themselves() -> None:
    scores = np.random.default_rng(1).integers(0, 3, (3, 90))
    rated = rate(3, played_together(scores, TRIANGLE), common_deals=True)
    worth = np.array(rated.points) / POINTS_A_UNIT
    information, between = np.zeros((3, 3)), np.zeros((3, 3))
    directions = [np.eye(3)[one] - np.eye(3)[other] for one, other in TRIANGLE]
    for direction in directions:
        chance = 1 / (1 + math.exp(-float(direction @ worth)))
        information += 180 * chance * (1 - chance) * np.outer(direction, direction)
    for block in range(90):
        pull = sum((row[block] - row.mean()) * direction for row, direction in zip(scores, directions, strict=True))
        between += np.outer(pull, pull) * 90 / 89
    inverse = np.linalg.pinv(information)
    expected = np.sqrt(np.diag(inverse @ between @ inverse)) * POINTS_A_UNIT
    assert rated.clustered_errors == pytest.approx(expected, abs=1e-9)


def test_equal_deviations_within_clusters_are_not_lost() -> None:
    blocks = 2 * CLUSTERS
    scores = np.ones((3, blocks), np.int64)
    scores[:, 0], scores[:, CLUSTERS] = 2, 0  # one cluster, whose sum is as expected
    together = played_together(scores, TRIANGLE)
    assert rate(3, together, common_deals=True).clustered_errors == pytest.approx(rate(3, together).clustered_errors)


def test_errors_are_those_of_repeated_tournaments_on_common_deals() -> None:
    # Deals favour the first policy in all of its pairs at once: pairs taken for independent give it too small an error.
    random, runs, blocks = np.random.default_rng(7), 200, 700
    pairs = list(combinations(range(4), 2))
    points, together, apart = [], [], []
    for _ in range(runs):
        favour = random.normal(0, 2, blocks)
        scores = np.array(
            [random.binomial(2, 1 / (1 + np.exp(-0.2 * (other - one) - favour * (one == 0)))) for one, other in pairs]
        )
        met = played_together(scores, pairs)
        points.append(rate(4, met).points[0])
        together.append(rate(4, met, common_deals=True).clustered_errors[0])
        apart.append(rate(4, met).clustered_errors[0])
    spread = float(np.std(points, ddof=1))
    assert np.mean(together) == pytest.approx(spread, rel=4 / math.sqrt(2 * runs))
    assert np.mean(apart) < 0.8 * spread
