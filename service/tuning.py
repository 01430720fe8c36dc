"""SPSA on the weights of a policy: simultaneous perturbation stochastic approximation (Spall 1992, 1998).

A step moves all weights at once by a random sign each, plays the weights moved one way against those moved the other way, and
goes a little in the direction of the winner. Both sides meet the same deals in every seat, so the luck of the deal is no part
of the difference. The result is the mean of the later steps, which wanders less than the last of them (Polyak and Juditsky
1992).

All is a function of the seed: the signs, the deals, and so the result.
"""

import random
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

from workers.engine.policies.language import WEIGHT_WORDS
from workers.engine.policies.program import MAX_WEIGHT, WEIGHT_UNIT, Feature

Weights = dict[str, float]
"""By feature's word; thousandths, as a policy takes them."""
Play = Callable[[Sequence[Mapping[str, Any]], int], Sequence[float]]
"""Plays scenarios under a seed; returns the first place's win share in each."""

SCALE: Final[Mapping[Feature, float]] = {
    Feature.PIPS: 0.1, Feature.DOUBLE: 0.7, Feature.MOBILITY: 0.3, Feature.DISTINCT: 0.3, Feature.NEXT_LACKS_ONE: 0.7,
    Feature.NEXT_LACKS_BOTH: 0.7, Feature.UNSEEN: 0.15, Feature.OTHER_LACKS: 0.7, Feature.NO_FOLLOW_UP: 0.7,
    Feature.EQUAL_ENDS: 0.7,
}  # fmt: skip
"""What counts as much for each feature: about one over its spread among the placements of a decision."""
_GAIN_DECAY: Final = 0.602
_SHIFT_DECAY: Final = 0.101
"""Spall's exponents for practice."""


@dataclass(frozen=True, slots=True)
class Tuning:
    """What to do: `steps` of `matches` matches each; `shift` and `gain` in units of `SCALE`, both shrinking step by step."""

    players: int
    steps: int
    matches: int
    seed: int
    shift: float = 0.5
    gain: float = 6.0
    ruleset: str | Mapping[str, Any] = "block"


@dataclass(frozen=True, slots=True)
class Step:
    """A step taken: its number from 1, by how much the first of both sides won, and the weights after it."""

    number: int
    difference: float
    weights: Weights


def tune(start: Mapping[str, float], tuning: Tuning, play: Play) -> Iterator[Step]:
    """The steps from the weights `start`; those that it does not name begin at 0 and are tuned too."""
    chance = random.Random(tuning.seed)
    scale = {word: SCALE[feature] for word, feature in WEIGHT_WORDS.items()}
    place = {word: start.get(word, 0.0) / scale[word] for word in scale}
    settle = tuning.steps / 10
    for number in range(1, tuning.steps + 1):
        shift = tuning.shift / number**_SHIFT_DECAY
        gain = tuning.gain / (number + settle) ** _GAIN_DECAY
        signs = {word: chance.choice((-1, 1)) for word in scale}
        one, other = (
            {"weights": _rounded({word: (place[word] + way * shift * signs[word]) * scale[word] for word in scale})}
            for way in (1, -1)
        )
        shares = play(duel(one, other, tuning), chance.getrandbits(53))
        difference = shares[0] - shares[1] if len(shares) == 2 else 2 * shares[0] - 1
        for word in scale:
            place[word] += gain * difference * signs[word]
        yield Step(number, difference, _rounded({word: place[word] * scale[word] for word in scale}))


def duel(one: Any, other: Any, tuning: Tuning, matches: int | None = None) -> list[dict[str, Any]]:
    """Scenarios in which two policies meet: each against a field of the other, or once where that is the same."""
    pairs = [(one, other)] if tuning.players == 2 else [(one, other), (other, one)]
    total = tuning.matches if matches is None else matches
    return [
        {
            "players": tuning.players, "policies": [first, *[second] * (tuning.players - 1)],
            "matches": -(-total // len(pairs)), "ruleset": tuning.ruleset,
        }
        for first, second in pairs
    ]  # fmt: skip


def mean_weights(steps: Sequence[Step]) -> Weights:
    """The mean of the later half of the steps."""
    late = steps[len(steps) // 2 :]
    return _rounded({word: sum(step.weights[word] for step in late) / len(late) for word in late[0].weights})


def _rounded(weights: Mapping[str, float]) -> Weights:
    """In thousandths, within what a policy takes."""
    return {
        word: min(MAX_WEIGHT, max(-MAX_WEIGHT, round(weight * WEIGHT_UNIT) / WEIGHT_UNIT)) for word, weight in weights.items()
    }
