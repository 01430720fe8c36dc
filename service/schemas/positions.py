"""Positions and deals, as judge and perft read and answer them.

The rules check these themselves (`workers.engine.positions`, `workers.engine.perft`), which the command line shares; the
models here describe them to readers of the OpenAPI document, and the tests hold both against each other.
"""

from typing import Annotated, Any, Final, Literal, TypeAlias

from fastapi.openapi.models import Example
from pydantic import Field, WithJsonSchema

from service.schemas.fields import Answer, Request, RulesetField

Tile: TypeAlias = Annotated[list[int], Field(min_length=2, max_length=2, description="A tile, read either way round.")]
Ends: TypeAlias = Annotated[list[int], Field(min_length=2, max_length=2)]
Fraction: TypeAlias = Annotated[str, Field(pattern=r"^[0-9]+(/[0-9]+)?$", examples=["17/32"])]


class Position(Request):
    """A position of a round. `action` is applied first, then forced draws and passes are taken."""

    ruleset: RulesetField = "block"
    players: int
    hands: list[list[Tile]]
    line_ends: Ends | None
    to_move: int | None = None
    action: Annotated[
        list[Any] | None, Field(description="`[tile, matched end]`, the end null for an opening.", examples=[[[2, 5], 5]])
    ] = None
    passes_in_a_row: int = 0
    stock: Annotated[list[Tile], Field(default_factory=list)]
    first_round: bool = False


class Judgement(Answer):
    """What the rules say of a position."""

    round_over: bool
    reason: Literal["out", "blocked"] | None
    winner: int | None
    credit: list[int]
    passes: list[int]
    to_move: int | None
    line_ends: Ends | None
    legal: Annotated[list[list[Any]], Field(description="`[tile, end]` each, in hand order, then end order.")]
    winner_side: int | None = None
    drawn: Annotated[list[int] | None, Field(description="Tiles drawn, by seat; under draw rules.")] = None
    stock_left: int | None = None


class Deal(Request):
    """A dealt round before its first placement."""

    ruleset: RulesetField = "block"
    players: int
    hands: list[list[Tile]]
    leader: int
    stock: Annotated[list[Tile], Field(default_factory=list)]


class TreeCount(Answer):
    """All ways to play a deal out; the chances are those under the policy `random`."""

    complete_rounds: int | str
    by_placements: dict[str, int | str]
    p_win: list[Fraction]
    p_tie: Fraction
    p_blocked: Fraction


def _one_or_many(name: str) -> WithJsonSchema:
    one = {"$ref": f"#/components/schemas/{name}"}
    return WithJsonSchema({"anyOf": [one, {"type": "array", "items": one}]})


JudgeBody: TypeAlias = Annotated[Any, _one_or_many("Position")]
PerftBody: TypeAlias = Annotated[Any, _one_or_many("Deal")]
JudgeAnswer: TypeAlias = Judgement | list[Judgement]
PerftAnswer: TypeAlias = TreeCount | list[TreeCount]

POSITION_EXAMPLES: Final[dict[str, Example]] = {
    "going out": {
        "summary": "The last tile of a hand",
        "value": {
            "ruleset": "block", "players": 2, "hands": [[[2, 5]], [[0, 0]]], "line_ends": [5, 3], "to_move": 0,
            "action": [[2, 5], 5],
        },
    },
}  # fmt: skip
DEAL_EXAMPLES: Final[dict[str, Example]] = {
    "two tiles each": {
        "summary": "A small deal",
        "value": {
            "ruleset": "block", "players": 2, "hands": [[[1, 2], [2, 2]], [[2, 3], [1, 1]]], "leader": 0,
        },
    },
}  # fmt: skip
