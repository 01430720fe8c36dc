"""`double`: doubles first, since they fit one value only and are the hardest tiles to get rid of."""

from typing import Final

from workers.engine.policies.named import NamedPolicy, always
from workers.engine.policies.program import Feature, Preference, Program

POLICY: Final = NamedPolicy(
    "double", "1", "A playable double if there is one, else the playable tile with most pips",
    always(Program(prefer=(Preference(Feature.DOUBLE), Preference(Feature.PIPS)))),
)  # fmt: skip
