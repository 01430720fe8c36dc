"""Whose request it is: known to everything that works for the request, threads included."""

from contextvars import ContextVar
from dataclasses import dataclass
from typing import Final, Literal, TypeAlias, get_args

Role: TypeAlias = Literal["read", "submit", "admin"]
ROLES: Final[tuple[Role, ...]] = get_args(Role)
"""Each may do what those before it may. `read`: look at everything; `submit`: also submit, and change what is its own;
`admin`: also change what is others', store and promote regressions, drain workers."""

ANONYMOUS: Final = "anonymous"
"""Whose everything is as long as there are no keys."""


@dataclass(frozen=True, slots=True)
class Caller:
    """A key's name and role; `csrf` is what forms have to send along, where a session of the page called."""

    name: str
    role: Role
    csrf: str = ""
    has_key: bool = True

    def may(self, role: Role) -> bool:
        """Whether the caller's role covers this one."""
        return ROLES.index(self.role) >= ROLES.index(role)


NOBODY: Final = Caller(ANONYMOUS, "admin", has_key=False)
"""The caller where no keys are needed."""
OPERATOR_HERE: Final = Caller("operator", "admin", has_key=False)
"""Whoever sits where Redis is."""
CALLER: Final[ContextVar[Caller]] = ContextVar("caller", default=NOBODY)
