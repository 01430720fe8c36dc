"""`heaviest`: get rid of pips, which is what a lost or blocked round costs."""

from typing import Final

from workers.engine.policies.named import NamedPolicy, always
from workers.engine.policies.program import Feature, Preference, Program

POLICY: Final = NamedPolicy(
    "heaviest", "1", "The playable tile with most pips", always(Program(prefer=(Preference(Feature.PIPS),)))
)
