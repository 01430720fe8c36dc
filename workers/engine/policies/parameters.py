"""Policies with parameters: what stands beside the name is read here, and every field that is wrong is named."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, Final

from workers.engine.policies.plan import Plan, Programmed
from workers.engine.policies.program import Program
from workers.errors import FieldError, InvalidInput

POLICY_SCHEMA: Final[Mapping[str, Any]] = {"type": ["string", "object"]}
"""A policy within a policy: a name, or an object."""
MAX_DEPTH: Final = 8
"""How deeply policies may consult policies."""


@dataclass(slots=True)
class Reader:
    """Reads the parameters of one policy, and remembers what is wrong with them."""

    fields: Mapping[str, Any]
    players: int
    resolve: Callable[[object], Plan]
    """The plan of a policy within this one."""
    errors: list[FieldError] = field(default_factory=list)

    def refuse(self, path: str, message: str) -> None:
        """Remember what is wrong."""
        self.errors.append(FieldError(path, message))

    def whole(self, name: str, default: int, lowest: int, highest: int) -> int:
        """A whole number in a range."""
        value = self.fields.get(name, default)
        if isinstance(value, bool) or not isinstance(value, int) or not lowest <= value <= highest:
            self.refuse(name, f"must be a whole number from {lowest} to {highest}, not {value!r}")
            return default
        return value

    def policy(self, name: str, default: object) -> Plan:
        """A policy within this one."""
        try:
            return self.resolve(self.fields.get(name, default))
        except InvalidInput as refusal:
            self.errors.extend(refusal.below(name).errors)
            return Programmed(Program())

    def program(self, name: str, default: object) -> Program:
        """A policy within this one that must be fast: preferences and weights alone."""
        plan = self.policy(name, default)
        if isinstance(plan, Programmed):
            return plan.program
        self.refuse(name, "must be a policy without search, a name like linear or one written with prefer or weights")
        return Program()


@dataclass(frozen=True, slots=True)
class ConsultingPolicy:
    """A named policy that consults others. A change in how it plays needs a new version."""

    name: str
    version: str
    summary: str
    """One sentence for people, without the final stop."""
    properties: Mapping[str, Any]
    """JSON Schema of each parameter."""
    build: Callable[[Mapping[str, Any], Reader], Plan]
    """The plan for the given parameters; what is wrong goes to the reader."""

    @property
    def parameters(self) -> Mapping[str, Any]:
        """JSON Schema of what may stand beside `name` and `version`."""
        return {"type": "object", "properties": dict(self.properties), "additionalProperties": False}

    def plan(self, fields: Mapping[str, Any], players: int, resolve: Callable[[object], Plan]) -> Plan:
        """The plan that an object means; raises `InvalidInput` naming each parameter that is wrong."""
        reader = Reader(fields, players, resolve)
        for key in fields:
            if key not in ("name", "version", *self.properties):
                known = ", ".join(self.properties)
                reader.refuse(str(key), f"unknown parameter of policy {self.name}; known are version, {known}")
        plan = self.build(fields, reader)
        if reader.errors:
            raise InvalidInput(*reader.errors)
        return plan
