"""SPSA: it finds a known optimum, is a function of its seed, and asks for what it says."""

import random
from collections.abc import Mapping, Sequence
from typing import Any

import pytest

from service.tuning import SCALE, Tuning, duel, mean_weights, tune
from workers.engine.policies.language import WEIGHT_WORDS
from workers.engine.policies.program import Feature

BEST = {word: (2 if place % 2 else -1) * SCALE[feature] for place, (word, feature) in enumerate(WEIGHT_WORDS.items())}


def distance(weights: Mapping[str, float]) -> float:
    """How far from the optimum, in units of each scale."""
    return sum(((weights.get(word, 0) - BEST[word]) / SCALE[feature]) ** 2 for word, feature in WEIGHT_WORDS.items())


def contest(scenarios: Sequence[Mapping[str, Any]], seed: int) -> list[float]:
    """A game that whoever is nearer to the optimum wins more often, with the noise of a few thousand matches."""
    chance = random.Random(seed)
    shares = []
    for scenario in scenarios:
        one, other = (policy["weights"] for policy in scenario["policies"][:2])
        lead = (distance(other) - distance(one)) / 100
        shares.append(1 / scenario["players"] + lead + chance.gauss(0, 0.005))
    return shares


@pytest.mark.parametrize("players", [2, 3])
def test_it_finds_the_optimum(players: int) -> None:
    steps = list(tune({}, Tuning(players, 300, 1000, seed=4, gain=12), contest))
    assert [step.number for step in steps] == list(range(1, 301))
    assert distance({}) == pytest.approx(25)
    assert distance(mean_weights(steps)) < 0.1
    for step in steps:
        assert all(round(weight, 3) == weight for weight in step.weights.values())


def test_it_is_a_function_of_its_seed() -> None:
    one, again, other = (list(tune({"pips": 1}, Tuning(2, 20, 1000, seed), contest)) for seed in (1, 1, 2))
    assert one == again
    assert one != other


def test_both_ways_meet_in_every_seat() -> None:
    two = duel("a", "b", Tuning(2, 1, 1000, 1))
    assert [scenario["policies"] for scenario in two] == [["a", "b"]]
    four = duel("a", "b", Tuning(4, 1, 1001, 1, ruleset="traditional"))
    assert [scenario["policies"] for scenario in four] == [["a", "b", "b", "b"], ["b", "a", "a", "a"]]
    assert {scenario["matches"] for scenario in four} == {501}
    assert {scenario["ruleset"] for scenario in four} == {"traditional"}
    assert set(SCALE) == set(Feature)
