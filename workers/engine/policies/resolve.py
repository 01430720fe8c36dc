"""From what a user writes to a policy: the register of names, and the one place where a policy is validated."""

import hashlib
from collections.abc import Mapping
from functools import lru_cache
from typing import Any, Final

from workers.engine.policies import (
    balance,
    double,
    heaviest,
    lightest,
    linear,
    mobility,
    random,
    random_tile,
    starver,
)
from workers.engine.policies.language import describe_language, parse_written
from workers.engine.policies.named import NamedPolicy
from workers.engine.policies.policy import Policy
from workers.engine.policies.program import Program
from workers.errors import FieldError, InvalidInput

NAMED: Final[tuple[NamedPolicy, ...]] = (
    random.POLICY, random_tile.POLICY, heaviest.POLICY, lightest.POLICY, double.POLICY, mobility.POLICY, balance.POLICY,
    starver.POLICY, linear.POLICY,
)  # fmt: skip
"""Every named policy, in the order in which they are listed; of several versions the highest stands last."""

WRITTEN: Final = "written"
"""The name under which policies written as data are listed; it cannot itself be named."""
WRITTEN_VERSION: Final = "1"


def resolve_policy(value: object, players: int, path: str = "policy") -> Policy:
    """The policy that `value` means for `players` seats.

    `value` is a name, `{"name": ..., "version": ...}`, or a policy written as data (`{"prefer": [...], "weights": {...}}`).
    Raises `InvalidInput` below `path` naming each field that is wrong.
    """
    try:
        return _resolve_plain(value, players) if isinstance(value, str) else _resolve(value, players)
    except InvalidInput as refusal:
        raise refusal.below(path) if path else refusal from None


def describe_policies() -> list[dict[str, Any]]:
    """Everything that can be named, then the language: `{name, version, summary, parameters}`, parameters as JSON Schema.

    The last entry, `written`, is no name: its parameters are the schema of a policy written as data.
    """
    named = [
        {"name": each.name, "version": each.version, "summary": each.summary, "parameters": dict(each.parameters)}
        for each in NAMED
    ]
    summary = "A policy of one's own, written as data in place of a name: preferences in turn, weighted features, or both"
    return [
        *named,
        {"name": WRITTEN, "version": WRITTEN_VERSION, "summary": summary, "parameters": describe_language()},
    ]  # fmt: skip


def fingerprint(program: Program) -> str:
    """What decides how a policy plays, as 16 hexadecimal digits: the program itself, under whatever name it came."""
    return hashlib.sha256(b"program 1 " + program.encode().astype("<i4").tobytes()).hexdigest()[:16]


@lru_cache(256)
def _resolve_plain(name: str, players: int) -> Policy:
    """A bare name always means the same: a service is asked for the same few thousands of times."""
    return _resolve_named(name, {"name": name}, players)


def _resolve(value: object, players: int) -> Policy:
    if not isinstance(value, Mapping):
        raise InvalidInput.at("", f"must be a policy's name or an object, not {value!r}")
    if "name" in value:
        return _resolve_named(value, value, players)
    if "prefer" not in value and "weights" not in value:
        raise InvalidInput.at("", "must have a name, or be written as data with prefer or weights")
    program = parse_written(value)
    return Policy(value, WRITTEN, WRITTEN_VERSION, program, fingerprint(program))


def _resolve_named(value: str | Mapping[str, Any], fields: Mapping[str, Any], players: int) -> Policy:
    name = fields["name"]
    known = [each for each in NAMED if each.name == name]
    # A bare name that is unknown is the policy's own fault; in an object it is the fault of its name.
    path = "" if isinstance(value, str) else "name"
    if not known:
        names = ", ".join(dict.fromkeys(each.name for each in NAMED))
        hint = "; write it as an object with prefer or weights" if name == WRITTEN else ""
        raise InvalidInput.at(path, f"unknown policy {name!r}; known are {names}{hint}")
    errors = [
        FieldError(str(key), f"unknown parameter of policy {name}; it has none besides version")
        for key in fields if key not in ("name", "version")
    ]  # fmt: skip
    version = fields.get("version", known[-1].version)
    chosen = [each for each in known if each.version == version]
    if not chosen:
        versions = ", ".join(each.version for each in known)
        errors.append(FieldError("version", f"policy {name} has no version {version!r}; known are {versions}"))
    if errors:
        raise InvalidInput(*errors)
    program = chosen[0].program(players)
    return Policy(value, chosen[0].name, chosen[0].version, program, fingerprint(program))
