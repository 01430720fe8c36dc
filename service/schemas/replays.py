"""A match played again, as `workers.engine.replay` writes it: these models describe it."""

from typing import Annotated, Any, Literal

from pydantic import Field

from service.schemas.fields import Answer
from service.schemas.positions import Tile


class PortAnswer(Answer):
    """One end of a placed tile, and the value that joins it."""

    tile: Tile
    port: Literal["A", "B", "high", "low"]
    value: int


class ConnectionAnswer(Answer):
    """An open port of the line and the port of the tile that joined it."""

    open: PortAnswer
    joined: PortAnswer


class PlacementAnswer(Answer):
    """A tile and the value of the end that it joined; null for an opening."""

    tile: Tile
    end: int | None


class PlyAnswer(Answer):
    """A turn, and the table after it: the tiles in the order placed, their connections, the open ports."""

    seat: int
    drawn: Annotated[list[Tile], Field(description="Tiles drawn before it.")]
    placement: Annotated[PlacementAnswer | None, Field(description="Null for a pass.")]
    line: list[Tile]
    connections: list[ConnectionAnswer]
    ports: list[PortAnswer]


class RoundAnswer(Answer):
    """A round: hands by seat, `credit` what it added, `scores` the sums after it."""

    round: int
    leader: int
    hands: list[list[Tile]]
    stock: list[Tile]
    plies: list[PlyAnswer]
    reason: Literal["out", "blocked"]
    winner: int | None
    credit: list[int]
    final_hands: list[list[Tile]]
    scores: list[int]


class Replay(Answer):
    """A match as it was played. `seated` names by seat the place whose policy sits there, `policies` that policy."""

    scenario: int
    match: int
    block: int
    rotation: int
    seated: list[int]
    policies: list[Any]
    winners: list[int]
    scores: list[int]
    rounds: list[RoundAnswer]


class MatchLine(Answer):
    """A match in one line; `winner` is null where it is shared or the match is unfinished."""

    match: int
    block: int
    rotation: int
    seated: list[int]
    policies: list[Any]
    winner: int | None
    winners: list[int]
    scores: list[int]
    rounds: int
