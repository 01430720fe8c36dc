"""What decides: a program, or something that consults programs. Both engines play every plan alike.

A plan is a chain of *stages*: each decides itself or hands the choice on to the next, and the last always decides. The compiled
kernel reads the stages as rows of whole numbers; a policy's fingerprint is taken from the same rows.
"""

from dataclasses import dataclass, field
from enum import IntEnum
from typing import Final, Protocol

import numpy as np
import numpy.typing as npt

from workers.engine.policies.own_compiled import CompiledChoice
from workers.engine.policies.program import PROGRAM_WORDS, Program, select
from workers.engine.reference import Placement, View
from workers.engine.rng import DecisionRandom
from workers.engine.rules import Ruleset


class Kind(IntEnum):
    """What a stage does."""

    PROGRAM = 0
    """Chooses by its program."""
    NOISY = 1
    """Now and then chooses at random, else hands on."""
    PIMC = 2
    """Plays placements out in sampled worlds."""
    ENDGAME = 3
    """Exact where few tiles are left, else hands on."""
    OWN = 4
    """Somebody's own code: compiled, or Python that only the literal rules play."""
    ISMCTS = 5
    """Searches one tree of what everybody sees, in sampled worlds."""


STAGE_NUMBERS: Final = 3
"""Parameters of a stage at most."""
STAGE_WORDS: Final = 1 + STAGE_NUMBERS + PROGRAM_WORDS
"""Length of an encoded stage: kind, parameters, program."""
NO_PROGRAM: Final = Program()


@dataclass(frozen=True, slots=True)
class Stage:
    """One link of a plan; what `numbers` and `program` mean is told where each kind is."""

    kind: Kind
    numbers: tuple[int, ...] = ()
    program: Program = NO_PROGRAM
    choice: CompiledChoice | None = field(default=None, compare=False)
    """Of somebody's own code, what the kernel can call."""

    def encode(self) -> npt.NDArray[np.int32]:
        """`[STAGE_WORDS]` int32, as the kernel reads it."""
        words = np.zeros(STAGE_WORDS, np.int32)
        words[0] = self.kind
        words[1 : 1 + len(self.numbers)] = self.numbers
        words[1 + STAGE_NUMBERS :] = self.program.encode()
        return words


class Plan(Protocol):
    """What a policy plays by."""

    def begin(self) -> "Plan":
        """The plan as it plays one seat through one match."""
        ...

    def choose(self, view: View, random: DecisionRandom) -> Placement:
        """The placement for this view, literally."""
        ...

    def stages(self) -> tuple[Stage, ...]:
        """The same for the kernel."""
        ...

    def refusal(self, ruleset: Ruleset) -> str | None:
        """Why this ruleset cannot be played, or None where it can."""
        ...


@dataclass(frozen=True, slots=True)
class Programmed:
    """The plan that is a program and nothing else."""

    program: Program

    def begin(self) -> "Programmed":
        """A program remembers nothing."""
        return self

    def choose(self, view: View, random: DecisionRandom) -> Placement:
        """What the program selects."""
        return select(self.program, view, random)

    def stages(self) -> tuple[Stage, ...]:
        """One."""
        return (Stage(Kind.PROGRAM, program=self.program),)

    def refusal(self, ruleset: Ruleset) -> str | None:  # noqa: ARG002
        """Programs play everything."""
        return None
