"""Reading a document from a file or from standard input."""

import sys
import tomllib
from pathlib import Path
from typing import Any, Final

import orjson

from service.cli.exits import UsageError

STANDARD_INPUT: Final = "-"
MAX_BYTES: Final = 64 * 2**20


def read_document(name: str) -> Any:
    """The JSON, YAML or TOML document in a file, told by its suffix; `-` and other suffixes: JSON, else YAML.

    Raises `UsageError` that names the file.
    """
    if name == STANDARD_INPUT:
        return _parse(sys.stdin.buffer.read(MAX_BYTES), "", "standard input")
    path = Path(name)
    try:
        with path.open("rb") as file:
            content = file.read(MAX_BYTES)
    except OSError as error:
        raise UsageError(f"{name}: {error.strerror}") from None
    return _parse(content, path.suffix.lower(), name)


def _parse(content: bytes, suffix: str, name: str) -> Any:
    try:
        text = content.decode()
    except UnicodeDecodeError:
        raise UsageError(f"{name}: is not a text in UTF-8") from None
    if not text.strip():
        raise UsageError(f"{name}: is empty")
    match suffix:
        case ".toml":
            return _parse_toml(text, name)
        case ".yaml" | ".yml":
            return _parse_yaml(text, name)
        case ".json":
            return _parse_json(text, name)
        case _:
            try:
                return orjson.loads(text)
            except orjson.JSONDecodeError as error:
                if text.lstrip()[0] in "{[":
                    raise UsageError(f"{name}: broken JSON: {error}") from None
            return _parse_yaml(text, name)


def _parse_json(text: str, name: str) -> Any:
    try:
        return orjson.loads(text)
    except orjson.JSONDecodeError as error:
        raise UsageError(f"{name}: broken JSON: {error}") from None


def _parse_toml(text: str, name: str) -> Any:
    try:
        return tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        raise UsageError(f"{name}: broken TOML: {error}") from None


def _parse_yaml(text: str, name: str) -> Any:
    import yaml

    try:
        return yaml.safe_load(text)
    except yaml.YAMLError as error:
        where = getattr(error, "problem_mark", None)
        place = f" in line {where.line + 1}" if where else ""
        raise UsageError(f"{name}: broken YAML{place}: {getattr(error, 'problem', None) or error}") from None
