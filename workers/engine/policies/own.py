"""Policies of one's own, written in Python: found by entry point, played on the literal rules.

A package names a class under the entry point group `blockyard.policies`. The class has `name`, `version` and
`choose(self, view, random)`, which returns a placement `((low, high), end)` out of `view.legal`. It is made anew, without
arguments, for every match and seat, and asked only where there is a choice. `view` is a `reference.View`, `random` the
`rng.DecisionRandom` of this decision: whoever takes all chance from it plays the same match again anywhere. Where `choose` is
decorated as compiled (`own_compiled`), it is a function of whole numbers instead, and the kernel calls it.
"""

import hashlib
import logging
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from importlib import import_module
from importlib.metadata import EntryPoint, entry_points
from pathlib import Path
from typing import Any, Final

from workers.engine.policies.named import NO_PARAMETERS
from workers.engine.policies.own_compiled import CompiledChoice
from workers.engine.policies.plan import Kind, Plan, Stage
from workers.engine.policies.watch import TookTooLong, decision_seconds, watched
from workers.engine.reference import Placement, View
from workers.engine.rng import DecisionRandom
from workers.engine.rules import Ruleset
from workers.errors import PlayFailed

GROUP: Final = "blockyard.policies"

_log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class OwnPolicy:
    """A class that a package offers. A change in its package's source changes its fingerprint."""

    name: str
    version: str
    summary: str
    """The first line of the class's docstring, without the final stop."""
    maker: type
    digest: tuple[int, ...]
    """Name, version and all source of its package, hashed: three numbers below 2^31."""

    @property
    def choice(self) -> CompiledChoice | None:
        """The function that the kernel calls, where it is decorated as compiled."""
        choose = getattr(self.maker, "choose", None)
        return choose if isinstance(choose, CompiledChoice) else None

    @property
    def parameters(self) -> Mapping[str, Any]:
        """It has none."""
        return NO_PARAMETERS


@dataclass(frozen=True, slots=True)
class Own:
    """The plan that such a class is; `player` is the instance that plays one seat of one match."""

    policy: OwnPolicy
    player: Any = None

    def begin(self) -> "Own":
        """A fresh instance; raises `PlayFailed` where none can be made."""
        try:
            return Own(self.policy, self.policy.maker())
        except Exception as error:
            raise PlayFailed(f"policy {self.policy.name} could not be made: {type(error).__name__}: {error}") from error

    def choose(self, view: View, random: DecisionRandom) -> Placement:
        """What the instance answers; raises `PlayFailed` for an exception, an illegal answer or one that takes too long."""
        player = self.begin().player if self.player is None else self.player
        name, limit = self.policy.name, decision_seconds()
        try:
            with watched(limit):
                answer = player.choose(view, random)
        except TookTooLong:
            raise PlayFailed(f"policy {name} in seat {view.seat} took more than {limit:g} s of processor time") from None
        except KeyboardInterrupt:
            raise
        except BaseException as error:
            raise PlayFailed(f"policy {name} in seat {view.seat} raised {type(error).__name__}: {error}") from error
        try:
            (low, high), end = answer
            placement = Placement((low, high), end)
        except (TypeError, ValueError):
            placement = None
        if placement not in view.legal:
            raise PlayFailed(f"policy {name} in seat {view.seat} answered {answer!r}, which is none of {view.legal}")
        return view.legal[view.legal.index(placement)]

    def stages(self) -> tuple[Stage, ...]:
        """The source, for the fingerprint, and what the kernel calls if it can."""
        return (Stage(Kind.OWN, self.policy.digest, choice=self.policy.choice),)

    def refusal(self, ruleset: Ruleset) -> str | None:  # noqa: ARG002
        """It is asked under every ruleset."""
        return None


def is_literal(plan: Plan) -> bool:
    """Whether Python code decides somewhere in a plan, so that no kernel can play it."""
    return any(stage.kind is Kind.OWN and stage.choice is None for stage in plan.stages())


def is_compiled(plan: Plan) -> bool:
    """Whether somebody's own compiled code decides somewhere in a plan."""
    return any(stage.choice is not None for stage in plan.stages())


@cache
def own_policies() -> tuple[OwnPolicy, ...]:
    """What the installed packages offer, by name and ascending version; one that cannot be loaded is logged and left out."""
    found: dict[tuple[str, str], OwnPolicy] = {}
    for point in sorted(entry_points(group=GROUP), key=lambda point: (point.name, point.value)):
        try:
            policy = _load(point)
        except Exception as error:
            _log.warning("policy %s (%s) cannot be used: %s: %s", point.name, point.value, type(error).__name__, error)
            continue
        if found.setdefault((policy.name, policy.version), policy) is not policy:
            _log.warning("policy %s version %s is offered twice; %s is left out", policy.name, policy.version, point.value)
    return tuple(sorted(found.values(), key=lambda policy: (policy.name, _order(policy.version))))


def _load(point: EntryPoint) -> OwnPolicy:
    maker = point.load()
    if not isinstance(maker, type) or not callable(getattr(maker, "choose", None)):
        raise TypeError("must be a class with a method choose(self, view, random)")
    name, version = getattr(maker, "name", None), getattr(maker, "version", None)
    for attribute, value in (("name", name), ("version", version)):
        if not isinstance(value, str) or not value:
            raise TypeError(f"its {attribute} must be a string that is not empty, not {value!r}")
    assert isinstance(name, str)
    assert isinstance(version, str)
    summary = (maker.__doc__ or "A policy of one's own").strip().splitlines()[0].rstrip(".")
    return OwnPolicy(name, version, summary, maker, _digest(name, version, maker))


def _digest(name: str, version: str, maker: type) -> tuple[int, ...]:
    digest = hashlib.sha256(f"own 1\0{name}\0{version}\0".encode())
    package = import_module(maker.__module__.partition(".")[0])
    places = [Path(place) for place in getattr(package, "__path__", ())]
    if places:
        sources = sorted((path.relative_to(place).as_posix(), path) for place in places for path in place.rglob("*.py"))
    else:
        sources = [("", Path(str(package.__file__)))]
    for relative, path in sources:
        content = path.read_bytes()
        digest.update(f"{relative}\0{len(content)}\0".encode() + content)
    words = digest.digest()
    return tuple(int.from_bytes(words[4 * place : 4 * place + 4]) >> 1 for place in range(3))


def _order(version: str) -> tuple[tuple[int, int, str], ...]:
    """Numbers in a version count as numbers: 10 is higher than 9."""
    return tuple((1, int(part), "") if part.isdigit() else (0, 0, part) for part in version.split("."))
