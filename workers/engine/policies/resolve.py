"""From what a user writes to a policy: the register of names, and the one place where a policy is validated."""

import hashlib
from collections.abc import Mapping
from functools import lru_cache
from typing import Any, Final

from workers.engine.policies import (
    balance,
    double,
    endgame,
    heaviest,
    ismcts,
    lightest,
    linear,
    mobility,
    noisy,
    pimc,
    random,
    random_tile,
    starver,
)
from workers.engine.policies.language import describe_language, parse_written
from workers.engine.policies.named import NamedPolicy
from workers.engine.policies.own import Own, OwnPolicy, own_policies
from workers.engine.policies.parameters import MAX_DEPTH, ConsultingPolicy
from workers.engine.policies.plan import Plan, Programmed
from workers.engine.policies.policy import Policy
from workers.errors import FieldError, InvalidInput

NAMED: Final[tuple[NamedPolicy, ...]] = (
    random.POLICY, random_tile.POLICY, heaviest.POLICY, lightest.POLICY, double.POLICY, mobility.POLICY, balance.POLICY,
    starver.POLICY, linear.FIRST, linear.POLICY,
)  # fmt: skip
"""Every named program, in the order in which they are listed; of several versions the highest stands last."""

CONSULTING: Final[tuple[ConsultingPolicy, ...]] = (noisy.POLICY, pimc.POLICY, endgame.POLICY, ismcts.POLICY)
"""Every named policy that consults others, listed after the programs."""
REGISTER: Final[tuple[NamedPolicy | ConsultingPolicy, ...]] = (*NAMED, *CONSULTING)
SHIPPED: Final = frozenset(each.name for each in REGISTER)

WRITTEN: Final = "written"
"""The name under which policies written as data are listed; it cannot itself be named."""
WRITTEN_VERSION: Final = "1"


def resolve_policy(value: object, players: int, path: str = "policy") -> Policy:
    """The policy that `value` means for `players` seats.

    `value` is a name, `{"name": ..., "version": ...}`, or a policy written as data (`{"prefer": [...], "weights": {...}}`).
    Raises `InvalidInput` below `path` naming each field that is wrong.
    """
    try:
        return _resolve(value, players)
    except InvalidInput as refusal:
        raise refusal.below(path) if path else refusal from None


def describe_policies() -> list[dict[str, Any]]:
    """Everything that can be named, then the language: `{name, version, summary, parameters}`, parameters as JSON Schema.

    The last entry, `written`, is no name: its parameters are the schema of a policy written as data.
    """
    named = [
        {"name": each.name, "version": each.version, "summary": each.summary, "parameters": dict(each.parameters)}
        for each in (*REGISTER, *_own())
    ]
    summary = "A policy of one's own, written as data in place of a name: preferences in turn, weighted features, or both"
    return [
        *named,
        {"name": WRITTEN, "version": WRITTEN_VERSION, "summary": summary, "parameters": describe_language()},
    ]  # fmt: skip


def fingerprint(plan: Plan) -> str:
    """What decides how a policy plays, as 16 hexadecimal digits: the plan itself, under whatever name it came."""
    if isinstance(plan, Programmed):
        content = b"program 1 " + plan.program.encode().astype("<i4").tobytes()
    else:
        content = b"plan 1 " + b"".join(stage.encode().astype("<i4").tobytes() for stage in plan.stages())
    return hashlib.sha256(content).hexdigest()[:16]


@lru_cache(256)
def _resolve_shipped(name: str, players: int, depth: int) -> Policy:
    """A bare name that ships always means the same: a service is asked for the same few thousands of times."""
    return _resolve_named(name, {"name": name}, players, depth)


def _resolve(value: object, players: int, depth: int = 0) -> Policy:
    if isinstance(value, str):
        if value in SHIPPED:
            return _resolve_shipped(value, players, depth)
        return _resolve_named(value, {"name": value}, players, depth)
    if not isinstance(value, Mapping):
        raise InvalidInput.at("", f"must be a policy's name or an object, not {value!r}")
    if "name" in value:
        return _resolve_named(value, value, players, depth)
    if "prefer" not in value and "weights" not in value:
        raise InvalidInput.at("", "must have a name, or be written as data with prefer or weights")
    plan = Programmed(parse_written(value))
    return Policy(value, WRITTEN, WRITTEN_VERSION, plan, fingerprint(plan))


def _resolve_named(value: str | Mapping[str, Any], fields: Mapping[str, Any], players: int, depth: int) -> Policy:
    name = fields["name"]
    known = _named(name)
    # A bare name that is unknown is the policy's own fault; in an object it is the fault of its name.
    path = "" if isinstance(value, str) else "name"
    if not known:
        names = ", ".join(dict.fromkeys(each.name for each in (*REGISTER, *_own())))
        hint = "; write it as an object with prefer or weights" if name == WRITTEN else ""
        raise InvalidInput.at(path, f"unknown policy {name!r}; known are {names}{hint}")
    version = fields.get("version", known[-1].version)
    chosen = next((each for each in known if each.version == version), None)
    errors: list[FieldError] = []
    if chosen is None:
        versions = ", ".join(each.version for each in known)
        errors.append(FieldError("version", f"policy {name} has no version {version!r}; known are {versions}"))
    try:
        plan = _plan(chosen or known[-1], fields, players, depth)
    except InvalidInput as refusal:
        raise InvalidInput(*errors, *refusal.errors) from None
    if errors:
        raise InvalidInput(*errors)
    return Policy(value, str(name), str(version), plan, fingerprint(plan))


def _named(name: object) -> list[NamedPolicy | ConsultingPolicy | OwnPolicy]:
    """Everything of that name, by ascending version. Packages are asked only for names that do not ship."""
    shipped: list[NamedPolicy | ConsultingPolicy | OwnPolicy] = [each for each in REGISTER if each.name == name]
    return shipped or [each for each in _own() if each.name == name]


def _own() -> list[OwnPolicy]:
    """What packages offer under names that do not ship."""
    taken = {WRITTEN, *(each.name for each in REGISTER)}
    return [each for each in own_policies() if each.name not in taken]


def _plan(named: NamedPolicy | ConsultingPolicy | OwnPolicy, fields: Mapping[str, Any], players: int, depth: int) -> Plan:
    if isinstance(named, ConsultingPolicy):
        if depth == MAX_DEPTH:
            raise InvalidInput.at("", f"policies consult each other to a depth of {MAX_DEPTH} at most")
        return named.plan(fields, players, lambda inner: _resolve(inner, players, depth + 1).plan)
    errors = [
        FieldError(str(key), f"unknown parameter of policy {named.name}; it has none besides version")
        for key in fields if key not in ("name", "version")
    ]  # fmt: skip
    if errors:
        raise InvalidInput(*errors)
    return Own(named) if isinstance(named, OwnPolicy) else Programmed(named.program(players))
