"""`noisy`: another policy that plays at random now and then, so that it is worse by a known bit: the yardstick of regressions.

The first number of a decision says whether it is random; the second picks the placement, or begins the other policy's numbers.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from decimal import Decimal
from typing import Any, Final

from workers.engine.policies.parameters import POLICY_SCHEMA, ConsultingPolicy, Reader
from workers.engine.policies.plan import Kind, Plan, Stage
from workers.engine.policies.program import Finish, Program, select
from workers.engine.reference import Placement, View
from workers.engine.rng import DecisionRandom
from workers.engine.rules import Ruleset

RATE_UNIT: Final = 1_000_000
"""A rate of 1 is stored as this many millionths."""
DEFAULT_POLICY: Final = {"name": "linear", "version": "2"}
"""Pinned: a later `linear` must not change what this one plays."""
DEFAULT_RATE: Final = 0.05
_AT_RANDOM: Final = Program(finish=Finish.RANDOM)


@dataclass(frozen=True, slots=True)
class Noisy:
    """`plan`, but one decision in RATE_UNIT / `rate` uniform over the placements."""

    rate: int
    plan: Plan

    def begin(self) -> "Noisy":
        """With the other policy as it begins a match."""
        return Noisy(self.rate, self.plan.begin())

    def choose(self, view: View, random: DecisionRandom) -> Placement:
        """A placement at random, or the other policy's."""
        is_random = (random.next_word() >> 32) * RATE_UNIT >> 32 < self.rate
        rest = DecisionRandom(random.next_word())
        return select(_AT_RANDOM, view, rest) if is_random else self.plan.choose(view, rest)

    def stages(self) -> tuple[Stage, ...]:
        """The rate in millionths, then the other policy."""
        return (Stage(Kind.NOISY, (self.rate,)), *self.plan.stages())

    def refusal(self, ruleset: Ruleset) -> str | None:
        """What the other policy cannot play."""
        return self.plan.refusal(ruleset)


def _build(fields: Mapping[str, Any], read: Reader) -> Noisy:
    rate = fields.get("rate", DEFAULT_RATE)
    millionths = Decimal(0)
    if isinstance(rate, bool) or not isinstance(rate, int | float) or not 0 <= rate <= 1:
        read.refuse("rate", f"must be a number from 0 to 1, not {rate!r}")
    else:
        millionths = Decimal(repr(rate)) * RATE_UNIT
        if millionths != millionths.to_integral_value():
            read.refuse("rate", f"must have at most six decimals, not {rate!r}")
    return Noisy(int(millionths), read.policy("policy", DEFAULT_POLICY))


POLICY: Final = ConsultingPolicy(
    "noisy", "1", "Another policy that plays a random placement at a given rate: worse by a known bit",
    {
        "policy": {**POLICY_SCHEMA, "default": DEFAULT_POLICY, "description": "who plays the rest of the time"},
        "rate": {
            "type": "number", "minimum": 0, "maximum": 1, "default": DEFAULT_RATE,
            "description": "share of the decisions that are random, at most six decimals",
        },
    },
    _build,
)  # fmt: skip
