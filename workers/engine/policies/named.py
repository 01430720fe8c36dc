"""What a named policy is: a preset of the policy language under a name and a version."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, Final

from workers.engine.policies.program import Program

NO_PARAMETERS: Final[Mapping[str, Any]] = {"type": "object", "properties": {}, "additionalProperties": False}


@dataclass(frozen=True, slots=True)
class NamedPolicy:
    """A policy that can be named. A change in how it plays needs a new version; the old one stays available beside it."""

    name: str
    version: str
    summary: str
    """One sentence for people, without the final stop."""
    program: Callable[[int], Program]
    """The program for a number of players, 2 to 8."""
    parameters: Mapping[str, Any] = field(default_factory=lambda: NO_PARAMETERS)
    """JSON Schema of what may stand beside `name` and `version`."""


def always(program: Program) -> Callable[[int], Program]:
    """The same program for every number of players."""
    return lambda _players: program
