"""JSON by the book, and without what a reader lets pass: names that stand twice in one object, and deep nesting."""

import json
from collections import Counter
from collections.abc import Iterator
from typing import Any, Final

import orjson

from workers.errors import FieldError, InvalidInput

MAX_DEPTH: Final = 32
"""Levels of nesting; nothing that we read needs ten, and what reads or quotes a value may recurse."""


def read_strict(text: str | bytes, place: str = "") -> Any:
    """The value of a JSON document, which as a whole is named `place`.

    Raises `json.JSONDecodeError` where it is broken (NaN and Infinity are), `InvalidInput` where it nests more than `MAX_DEPTH`
    levels deep or a name stands twice.
    """
    value = orjson.loads(text)
    if depth_exceeds(value, MAX_DEPTH):
        raise InvalidInput.at(place, f"the document is nested more than {MAX_DEPTH} levels deep")
    if twice := names_twice(text):
        raise InvalidInput(*(FieldError(path, "is given twice; only one can count") for path in twice))
    return value


class _Doubled(dict[str, Any]):
    """An object in which these names stood more than once."""

    names: tuple[str, ...] = ()


def names_twice(text: str | bytes) -> list[str]:
    """The places of names that stand twice in one object: any reader would drop one of their two values in silence.

    `text` is sound JSON of bounded depth.
    """
    found = False

    def note(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
        nonlocal found
        value = _Doubled(pairs)
        if len(value) < len(pairs):
            found = True
            value.names = tuple(name for name, count in Counter(name for name, _ in pairs).items() if count > 1)
        return value

    document = json.loads(text, object_pairs_hook=note)
    return list(_places(document, "")) if found else []


def _places(value: object, path: str) -> Iterator[str]:
    if isinstance(value, _Doubled):
        for name in value.names:
            yield f"{path}.{name}" if path else name
        for name, inner in value.items():
            yield from _places(inner, f"{path}.{name}" if path else name)
    elif isinstance(value, list):
        for position, inner in enumerate(value):
            yield from _places(inner, f"{path}[{position}]")


def depth_exceeds(value: object, limit: int) -> bool:
    """Whether lists and objects nest deeper than `limit` levels."""
    level = [value]
    for _ in range(limit + 1):
        level = [
            inner
            for outer in level
            if isinstance(outer, list | dict)
            for inner in (outer if isinstance(outer, list) else outer.values())
        ]
        if not level:
            return False
    return True
