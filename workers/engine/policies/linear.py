"""`linear`: a weighted sum of every feature; the weights come from a short search by self-play, for each number of players."""

from collections.abc import Mapping
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


def program(players: int) -> Program:
    """The weighted sum for this number of players."""
    return Program(weights=thousandths(WEIGHTS[min(players, 4)]))


POLICY: Final = NamedPolicy(
    "linear", "1", "The greatest weighted sum of all features, with weights found by self-play", program
)
