"""The values that fields hold, each with its check and its JSON Schema."""

from typing import Annotated, Any, Final, Literal, TypeAlias

from pydantic import AfterValidator, BaseModel, BeforeValidator, ConfigDict, Field, WithJsonSchema

from workers.jobs.spec import MAX_SEED

MAX_NAME: Final = 200
MAX_LABELS: Final = 32
MAX_LABEL_KEY: Final = 63
MAX_LABEL_VALUE: Final = 255
MAX_PAGE: Final = 200
"""Jobs, or results, on one page."""

JobState: TypeAlias = Literal["queued", "running", "paused", "done", "cancelled", "failed"]
Integer: TypeAlias = Annotated[
    int | str, WithJsonSchema({"anyOf": [{"type": "integer"}, {"type": "string", "pattern": "^-?[0-9]+$"}]})
]
"""A whole number in an answer: digits in a string where it is beyond 2^53."""


def _read_seed(value: object) -> object:
    """A seed may come as digits: many JSON writers cannot write whole numbers over 2^53."""
    if isinstance(value, str) and value.isascii() and value.isdigit() and len(value) <= 20:
        return int(value)
    if isinstance(value, bool) or not isinstance(value, int):
        raise ValueError(f"must be a whole number from 0 to {MAX_SEED}, or its digits as a string")
    return value


def _check_seed(value: int) -> int:
    if not 0 <= value <= MAX_SEED:
        raise ValueError(f"must be from 0 to {MAX_SEED}, not {value}")
    return value


def printable(value: str) -> str:
    """One line of text that a terminal and a page can show."""
    if not value.isprintable():
        raise ValueError("must be one line of printable characters")
    return value


def _nameable(value: object) -> object:
    """Names and objects alone; what they say is judged where the scenario is known."""
    if not isinstance(value, str | dict):
        raise ValueError("must be a name or an object")
    return value


Seed: TypeAlias = Annotated[
    int,
    BeforeValidator(_read_seed),
    AfterValidator(_check_seed),
    WithJsonSchema(
        {
            "anyOf": [
                {"type": "integer", "minimum": 0, "maximum": MAX_SEED},
                {"type": "string", "pattern": "^[0-9]{1,20}$"},
            ],
            "description": "0 to 2^64 - 1, as a number or as digits; drawn below 2^53 where absent, and reported.",
        }
    ),
]
PolicyField: TypeAlias = Annotated[
    Any,
    BeforeValidator(_nameable),
    WithJsonSchema(
        {
            "anyOf": [{"type": "string"}, {"type": "object"}],
            "description": "A policy's name, an object with name and parameters, or a policy written as data.",
        }
    ),
]
RulesetField: TypeAlias = Annotated[
    Any,
    BeforeValidator(_nameable),
    WithJsonSchema(
        {
            "anyOf": [{"type": "string"}, {"type": "object"}],
            "description": "A preset's name, or an object with preset and overrides.",
        }
    ),
]
Players: TypeAlias = Annotated[int, Field(ge=2, le=8)]
Matches: TypeAlias = Annotated[int, Field(ge=1, description="Rounded up to whole blocks.")]
LabelKey: TypeAlias = Annotated[str, Field(min_length=1, max_length=MAX_LABEL_KEY, pattern=r"^[A-Za-z0-9][A-Za-z0-9._/-]*$")]
LabelValue: TypeAlias = Annotated[str, Field(max_length=MAX_LABEL_VALUE), AfterValidator(printable)]
Labels: TypeAlias = Annotated[dict[LabelKey, LabelValue], Field(max_length=MAX_LABELS)]


class Request(BaseModel):
    """A body that users write: strict, and without unknown fields."""

    model_config = ConfigDict(extra="forbid", strict=True)


class Query(BaseModel):
    """Query parameters: texts, read leniently, but none that is unknown."""

    model_config = ConfigDict(extra="forbid")


class Answer(BaseModel):
    """A body that we write."""

    model_config = ConfigDict(frozen=True)
