"""A policy as the engine holds it: a name or a written object, resolved into a program with a fingerprint."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, TypeAlias

from workers.engine.policies.program import Program, select
from workers.engine.reference import Placement, View
from workers.engine.rng import DecisionRandom

PolicyValue: TypeAlias = str | Mapping[str, Any]
"""What a user writes: a name, an object with `name` and parameters, or a policy written as data."""


@dataclass(frozen=True, slots=True)
class Policy:
    """A resolved policy. Equal fingerprints mean equal play."""

    value: PolicyValue
    name: str
    version: str
    program: Program
    fingerprint: str

    def choose(self, view: View, random: DecisionRandom) -> Placement:
        """The placement that the policy makes in this view."""
        return select(self.program, view, random)
