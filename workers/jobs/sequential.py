"""A job that is a sequential test: it is looked at in steps of whole blocks, in order, and ends when a look decides.

Chunks come in any order and never cross a look. Those of looks still to come wait in `pending`; as soon as the next look is
whole it joins the sums, the likelihood ratio is taken, and the first ratio beyond a bound decides. What was played beyond
that look enters neither the sums nor the verdict, so both are the same whatever the workers did.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Final, Literal, TypeAlias

from workers.stats.sprt import Bounds, Decision, log_likelihood_ratio
from workers.stats.tally import Tally

LOOKS_AHEAD: Final = 64
"""Looks that may be under way beyond the last one taken: what waits in Redis stays small."""

Verdict: TypeAlias = Literal["passed", "regressed", "inconclusive", "stopped", "failed"]
CANDIDATE: Final = 0
"""The place in the scenario's list whose share is tested."""


@dataclass(frozen=True, slots=True)
class SequentialTest:
    """What is tested: share `s0` (H0) against `s1` (H1) at error levels `alpha` and `beta`, every `step` blocks.

    `units` is the greatest score of a block.
    """

    step: int
    units: int
    s0: float
    s1: float
    alpha: float
    beta: float

    @property
    def bounds(self) -> Bounds:
        """The bounds of the likelihood ratio."""
        return Bounds.of_errors(self.alpha, self.beta)

    def to_json(self) -> dict[str, Any]:
        """As it is stored with its job."""
        return {name: getattr(self, name) for name in self.__slots__}

    @classmethod
    def from_json(cls, value: Mapping[str, Any]) -> "SequentialTest":
        """The test that `to_json` wrote."""
        return cls(**value)


@dataclass(slots=True)
class TestState:
    """How far a test has come: looks taken, the path of the ratio as [blocks, LLR], and what the last look decided."""

    __test__ = False  # pytest: no test class

    looks: int = 0
    path: list[tuple[int, float]] = field(default_factory=list)
    decision: Decision = "undecided"
    overrun_blocks: int = 0
    """Blocks that were recorded beyond the deciding look."""

    @property
    def ratio(self) -> float:
        """The ratio at the last look, 0 before the first."""
        return self.path[-1][1] if self.path else 0.0

    def to_json(self) -> dict[str, Any]:
        """As it is stored with its job."""
        return {name: getattr(self, name) for name in self.__slots__}

    @classmethod
    def from_json(cls, value: Mapping[str, Any]) -> "TestState":
        """The state that `to_json` wrote."""
        return cls(
            value["looks"], [(int(blocks), float(ratio)) for blocks, ratio in value["path"]], value["decision"],
            value["overrun_blocks"],
        )  # fmt: skip


@dataclass(slots=True)
class Pending:
    """The looks that are not yet taken: for each, the blocks and the tally of what has been recorded of it."""

    parts: dict[int, tuple[int, Tally]] = field(default_factory=dict)

    def add(self, look: int, blocks: int, tally: Tally) -> None:
        """A recorded chunk of a look."""
        if look in self.parts:
            known, total = self.parts[look]
            total.merge(tally)
            self.parts[look] = known + blocks, total
        else:
            self.parts[look] = blocks, tally

    @property
    def blocks(self) -> int:
        """Blocks recorded and not yet taken."""
        return sum(blocks for blocks, _ in self.parts.values())

    def to_json(self) -> dict[str, Any]:
        """As it is stored with its job."""
        return {str(look): [blocks, tally.to_json()] for look, (blocks, tally) in self.parts.items()}

    @classmethod
    def from_json(cls, value: Mapping[str, Any]) -> "Pending":
        """What `to_json` wrote."""
        return cls({int(look): (blocks, Tally.from_json(tally)) for look, (blocks, tally) in value.items()})


def take_looks(test: SequentialTest, state: TestState, pending: Pending, sums: Tally) -> None:
    """Take every look that is whole and in turn, until one decides; changes all but the test."""
    while state.decision == "undecided" and pending.parts.get(state.looks, (0, None))[0] == test.step:
        _, tally = pending.parts.pop(state.looks)
        sums.merge(tally)
        state.looks += 1
        ratio = log_likelihood_ratio(sums.blocks[CANDIDATE].scores, test.units, test.s0, test.s1)
        state.path.append((state.looks * test.step, ratio))
        state.decision = test.bounds.decide(ratio)
    if state.decision != "undecided":
        state.overrun_blocks += pending.blocks
        pending.parts.clear()
