"""`mobility`: stay able to move."""

from typing import Final

from workers.engine.policies.named import NamedPolicy, always
from workers.engine.policies.program import Feature, Preference, Program

POLICY: Final = NamedPolicy(
    "mobility", "1", "The placement after which most of the own remaining tiles fit an end",
    always(Program(prefer=(Preference(Feature.MOBILITY),))),
)  # fmt: skip
