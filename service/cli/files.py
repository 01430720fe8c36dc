"""Reading a document from a file or from standard input."""

import json
import sys
import tomllib
from pathlib import Path
from typing import Any, Final

import orjson

from service.cli.exits import UsageError
from service.strict_json import read_strict
from workers.errors import InvalidInput

STANDARD_INPUT: Final = "-"
MAX_BYTES: Final = 64 * 2**20


def read_document(name: str) -> Any:
    """The JSON, YAML or TOML document in a file, told by its suffix; `-` and other suffixes: by what it can be read as.

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
            return _parse_any(text, name)


def _parse_any(text: str, name: str) -> Any:
    """TOML where it is that: no object of JSON or YAML is. Else JSON where it begins like that, else YAML."""
    try:
        return _as_json(tomllib.loads(text), name)
    except ValueError:
        return _parse_json(text, name) if text.lstrip()[0] in "{[" else _parse_yaml(text, name)


def _parse_json(text: str, name: str) -> Any:
    try:
        return read_strict(text)
    except json.JSONDecodeError as error:
        raise UsageError(f"{name}: broken JSON: {error}") from None
    except InvalidInput as error:
        raise UsageError(f"{name}: {error}") from None


def _parse_toml(text: str, name: str) -> Any:
    try:
        value = tomllib.loads(text)
    except ValueError as error:  # also of whole numbers with thousands of digits
        raise UsageError(f"{name}: broken TOML: {error}") from None
    return _as_json(value, name)


def _parse_yaml(text: str, name: str) -> Any:
    import yaml

    class Loader(yaml.SafeLoader):
        """Refuses mappings that are no JSON objects: YAML knows names that are numbers, and lets a name stand twice."""

        def construct_mapping(self, node: yaml.MappingNode, deep: bool = False) -> dict[Any, Any]:
            seen = set()
            for key, _ in node.value:
                if key.tag == "tag:yaml.org,2002:merge":
                    continue
                if key.tag != "tag:yaml.org,2002:str":
                    raise yaml.MarkedYAMLError(problem="a name must be a text; put it in quotes", problem_mark=key.start_mark)
                if key.value in seen:
                    raise yaml.MarkedYAMLError(problem=f"{key.value}: is given twice", problem_mark=key.start_mark)
                seen.add(key.value)
            return super().construct_mapping(node, deep)

    try:
        value = yaml.load(text, Loader)  # a safe loader
    except RecursionError:
        raise UsageError(f"{name}: is nested too deeply") from None
    except yaml.YAMLError as error:
        where = getattr(error, "problem_mark", None)
        place = f" in line {where.line + 1}" if where else ""
        raise UsageError(f"{name}: broken YAML{place}: {getattr(error, 'problem', None) or error}") from None
    except (ValueError, LookupError, AttributeError) as error:
        # The loader makes no error of its own of a scalar that is not what it looks like, such as a 30th of February.
        raise UsageError(f"{name}: broken YAML: {error}") from None
    return _as_json(value, name)


def _as_json(value: Any, name: str) -> Any:
    """The value as JSON has it, dates as texts: YAML and TOML can say more.

    Whole numbers beyond 64 bits are what the same digits are in a file of JSON, so that the service can refuse them by field.
    """
    try:
        text = json.dumps(value, allow_nan=False, default=str)
    except RecursionError:
        raise UsageError(f"{name}: is nested too deeply") from None
    except ValueError:
        raise UsageError(f"{name}: holds a number that is none (nan, inf), or a list within itself") from None
    try:
        return orjson.loads(text)
    except orjson.JSONDecodeError as error:
        raise UsageError(f"{name}: holds what JSON cannot: {error.msg}") from None
