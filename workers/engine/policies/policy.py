"""A policy as the engine holds it: a name or a written object, resolved into a plan with a fingerprint."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, TypeAlias

from workers.engine.policies.plan import Plan, Programmed
from workers.engine.policies.program import Program
from workers.engine.reference import Choose, Placement, View
from workers.engine.rng import DecisionRandom
from workers.engine.rules import Ruleset
from workers.errors import InvalidInput

PolicyValue: TypeAlias = str | Mapping[str, Any]
"""What a user writes: a name, an object with `name` and parameters, or a policy written as data."""


@dataclass(frozen=True, slots=True)
class Policy:
    """A resolved policy. Equal fingerprints mean equal play."""

    value: PolicyValue
    name: str
    version: str
    plan: Plan
    fingerprint: str

    @property
    def is_program(self) -> bool:
        """Whether it is preferences and weights alone, which every kernel plays."""
        return isinstance(self.plan, Programmed)

    @property
    def program(self) -> Program:
        """The program, of a policy that is one."""
        assert isinstance(self.plan, Programmed)
        return self.plan.program

    def check(self, ruleset: Ruleset, path: str) -> None:
        """Raises `InvalidInput` at `path` where the policy cannot play this ruleset."""
        if reason := self.plan.refusal(ruleset):
            raise InvalidInput.at(path, reason)

    def chooser(self) -> Choose:
        """What chooses for one seat through one match; raises `PlayFailed` where it cannot be made."""
        return self.plan.begin().choose

    def choose(self, view: View, random: DecisionRandom) -> Placement:
        """The placement that the policy makes in this view."""
        return self.plan.choose(view, random)
