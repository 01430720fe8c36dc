"""Options and arguments that several commands share."""

import json
from typing import Annotated, Any, TypeAlias

import typer

from service.cli.exits import UsageError
from service.strict_json import read_strict
from workers.errors import FieldError, InvalidInput

AsJson: TypeAlias = Annotated[bool, typer.Option("--json", help="Print JSON instead of a table.")]
Url: TypeAlias = Annotated[
    str, typer.Option("--url", envvar="BLOCKYARD_URL", help="Where the service answers.", show_envvar=True)
]
Key: TypeAlias = Annotated[
    str | None, typer.Option("--key", envvar="BLOCKYARD_KEY", help="The key to show to the service.", show_envvar=True)
]
JobId: TypeAlias = Annotated[str, typer.Argument(metavar="ID", help="The job's id.")]
Processes: TypeAlias = Annotated[
    int | None, typer.Option("--processes", min=1, max=1024, help="Processes that play; by default one for each core.")
]
Seed: TypeAlias = Annotated[int | None, typer.Option("--seed", help="0 to 2^64 - 1; by default drawn and reported.")]
Ruleset: TypeAlias = Annotated[str, typer.Option("--ruleset", help="A ruleset's name or a JSON object.")]

DEFAULT_URL = "http://127.0.0.1:8000"


def name_or_object(text: str, option: str) -> str | dict[str, Any]:
    """A name as it is, or the JSON object that the text is. Raises `UsageError` naming the option."""
    if not text.lstrip().startswith("{"):
        return text
    try:
        value = read_strict(text)
    except json.JSONDecodeError as error:
        raise UsageError(f"{option}: {text!r} is no JSON object: {error}") from None
    except InvalidInput as error:
        raise UsageError(f"{option}: {error}") from None
    assert isinstance(value, dict)
    return value


def by_option(refusal: InvalidInput, options: dict[str, str]) -> InvalidInput:
    """The refusal with each field's path under the option that set it, as in `--policy`."""
    return InvalidInput(*(FieldError(_option_path(error.path, options), error.message) for error in refusal.errors))


def _option_path(path: str, options: dict[str, str]) -> str:
    for field, option in options.items():
        if path == field or path.startswith((f"{field}.", f"{field}[")):
            return option + path[len(field) :]
    return path
