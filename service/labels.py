"""What a policy or a ruleset is called where people read it: in tables and on pages."""

from collections.abc import Mapping


def short_name(value: object) -> str:
    """A policy or ruleset for a table: its name; an object's parameters in short, as `prefer double, heaviest`."""
    match value:
        case {"name": name, **others}:
            parts = [str(name), *(f"{key} {_plain(other)}" for key, other in others.items())]
        case {"preset": name, **others}:
            parts = [str(name), *(f"{key} {_plain(other)}" for key, other in others.items())]
        case Mapping():
            parts = [f"{key} {_plain(other)}" for key, other in value.items()]
        case _:
            parts = [str(value)]
    return "; ".join(parts)


def _plain(value: object) -> str:
    if isinstance(value, Mapping):
        return ", ".join(f"{key} {_plain(other)}" for key, other in value.items())
    if isinstance(value, list | tuple):
        return ", ".join(map(_plain, value))
    return str(value)
