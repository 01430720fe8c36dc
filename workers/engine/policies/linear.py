"""`linear`: a weighted sum of every feature, with weights for each number of players.

The weights of version 1 come from a short search by self-play, those of version 2 from `blockyard tune`.
"""

from collections.abc import Callable, Mapping
from typing import Final

from workers.engine.policies.named import NamedPolicy
from workers.engine.policies.program import Feature, Program, thousandths

WEIGHTS: Final[Mapping[int, Mapping[Feature, float]]] = {
    2: {
        Feature.PIPS: 0.1, Feature.DOUBLE: 0.2, Feature.MOBILITY: 0.3, Feature.DISTINCT: -0.05, Feature.NEXT_LACKS_ONE: 1.5,
        Feature.NEXT_LACKS_BOTH: 0.5, Feature.UNSEEN: -0.29, Feature.OTHER_LACKS: 0.1, Feature.NO_FOLLOW_UP: 0,
        Feature.EQUAL_ENDS: 0.9,
    },
    3: {
        Feature.PIPS: 0.1, Feature.DOUBLE: 0.767, Feature.MOBILITY: 0.428, Feature.DISTINCT: -0.236,
        Feature.NEXT_LACKS_ONE: 0.824, Feature.NEXT_LACKS_BOTH: 0.022, Feature.UNSEEN: -0.318, Feature.OTHER_LACKS: 0.11,
        Feature.NO_FOLLOW_UP: -0.255, Feature.EQUAL_ENDS: 0.659,
    },
    4: {
        Feature.PIPS: 0.1, Feature.DOUBLE: 1.297, Feature.MOBILITY: 0.557, Feature.DISTINCT: 0.143,
        Feature.NEXT_LACKS_ONE: 0.571, Feature.NEXT_LACKS_BOTH: 0.029, Feature.UNSEEN: -0.414, Feature.OTHER_LACKS: 0.143,
        Feature.NO_FOLLOW_UP: -0.571, Feature.EQUAL_ENDS: 0.857,
    },
}  # fmt: skip
"""By number of players; five and more play with the weights for four."""

TUNED: Final[Mapping[int, Mapping[Feature, float]]] = {
    2: {
        Feature.PIPS: 0.154, Feature.DOUBLE: 0.081, Feature.MOBILITY: 0.121, Feature.DISTINCT: 0.048,
        Feature.NEXT_LACKS_ONE: 1.52, Feature.NEXT_LACKS_BOTH: 0.796, Feature.UNSEEN: -0.417,
        Feature.OTHER_LACKS: 0.141, Feature.NO_FOLLOW_UP: -0.305, Feature.EQUAL_ENDS: 0.895,
    },
    3: {
        Feature.PIPS: 0.138, Feature.DOUBLE: 0.513, Feature.MOBILITY: 0.481, Feature.DISTINCT: -0.205,
        Feature.NEXT_LACKS_ONE: 0.988, Feature.NEXT_LACKS_BOTH: 0.091, Feature.UNSEEN: -0.301,
        Feature.OTHER_LACKS: 0.244, Feature.NO_FOLLOW_UP: -0.248, Feature.EQUAL_ENDS: 0.682,
    },
    4: {
        Feature.PIPS: 0.152, Feature.DOUBLE: 1.142, Feature.MOBILITY: 0.567, Feature.DISTINCT: 0.135,
        Feature.NEXT_LACKS_ONE: 0.628, Feature.NEXT_LACKS_BOTH: 0.031, Feature.UNSEEN: -0.387,
        Feature.OTHER_LACKS: 0.231, Feature.NO_FOLLOW_UP: -0.585, Feature.EQUAL_ENDS: 0.873,
    },
}  # fmt: skip
"""Found by `blockyard tune` from the weights above; the records of the runs are `deploy/tuning/linear-<players>.json`."""


def weighing(weights: Mapping[int, Mapping[Feature, float]]) -> Callable[[int], Program]:
    """The weighted sum for each number of players."""
    return lambda players: Program(weights=thousandths(weights[min(players, 4)]))


FIRST: Final = NamedPolicy(
    "linear", "1", "The greatest weighted sum of all features, with weights found by self-play", weighing(WEIGHTS)
)
POLICY: Final = NamedPolicy("linear", "2", "The greatest weighted sum of all features, with tuned weights", weighing(TUNED))
