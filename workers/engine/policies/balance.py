"""`balance`: keep a hand that can answer many values."""

from typing import Final

from workers.engine.policies.named import NamedPolicy, always
from workers.engine.policies.program import Feature, Preference, Program

POLICY: Final = NamedPolicy(
    "balance", "1", "The placement that keeps most distinct values in the own hand",
    always(Program(prefer=(Preference(Feature.DISTINCT),))),
)  # fmt: skip
