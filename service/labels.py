"""What a policy or a ruleset is called where people read it: in tables and on pages."""

from collections.abc import Mapping


def short_name(value: object) -> str:
    """A policy or ruleset for a table: its name; an object's parameters in short, as `prefer double, heaviest`."""
    match value:
        case {"name": name, **others}:
            parts = [str(name), *(f"{key} {_plain(other)}" for key, other in others.items())]
        case {"preset": name, **others}:
            parts = [str(name), *(_parameter(key, other) for key, other in others.items())]
        case Mapping():
            parts = [f"{key} {_plain(other)}" for key, other in value.items()]
        case _:
            parts = [str(value)]
    return "; ".join(parts)


def _parameter(key: object, value: object) -> str:
    """`ends target 50`; what is true is named, what is false or absent is said to be missing."""
    if value is True:
        return str(key)
    return f"no {key}" if value is False or value is None else f"{key} {_plain(value)}"


def _plain(value: object) -> str:
    if isinstance(value, Mapping):
        return ", ".join(f"{key} {_plain(other)}" for key, other in value.items())
    if isinstance(value, list | tuple):
        return ", ".join(map(_plain, value))
    return str(value)
