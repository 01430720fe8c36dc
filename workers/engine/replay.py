"""Replays: a match as a document, with the line's ports after every ply.

Every placed tile has two ports: a non-double its `low` and its `high` end, a double its sides `A` and `B`. A double joins
the line with A and goes on at B; one that opens is open at both. Where both open ports have the same value, the first one in
the order of listing (by tile, then by the port's name) is joined.
"""

from collections.abc import Iterable
from typing import Any, Literal, NamedTuple, TypeAlias

from workers.engine.documents import tile_out
from workers.engine.play import Lineup, replay_match
from workers.engine.reference import Placement, Ply, RoundRecord
from workers.engine.tiles import Tile, is_double, tile_name

PortName: TypeAlias = Literal["A", "B", "high", "low"]


class Port(NamedTuple):
    """One end of a placed tile. Ports sort as replays list them."""

    tile: Tile
    name: PortName

    @property
    def value(self) -> int:
        """The value that joins it."""
        return self.tile[1] if self.name == "high" else self.tile[0]

    def __str__(self) -> str:
        return f"{tile_name(self.tile)} {self.name}"


class Connection(NamedTuple):
    """An open port of the line and the port of the tile that joined it."""

    open: Port
    joined: Port

    def __str__(self) -> str:
        return f"{self.open} – {self.joined}"


class Line:
    """The tiles on the table, with their connections and the two open ports."""

    def __init__(self) -> None:
        self.tiles: list[Tile] = []
        """In the order placed."""
        self.connections: list[Connection] = []
        self.open: list[Port] = []
        """Sorted; empty before the opening, then two."""

    def place(self, placement: Placement) -> None:
        """Lay a tile that fits."""
        near, far = _ports(placement.tile, placement.end)
        if self.tiles:
            joined = next(port for port in self.open if port.value == placement.end)
            self.connections.append(Connection(joined, near))
            self.open = sorted([next(port for port in self.open if port != joined), far])
        else:
            self.open = sorted([near, far])
        self.tiles.append(placement.tile)

    def to_json(self) -> dict[str, Any]:
        """The line as replays show it."""
        return {
            "line": [tile_out(tile) for tile in self.tiles],
            "connections": [
                {"open": _port_out(connection.open), "joined": _port_out(connection.joined)} for connection in self.connections
            ],
            "ports": [_port_out(port) for port in self.open],
        }


def line_after(placements: Iterable[Placement]) -> Line:
    """The line that these placements laid."""
    line = Line()
    for placement in placements:
        line.place(placement)
    return line


def replay_document(lineup: Lineup, block: int, rotation: int) -> dict[str, Any]:
    """A match again, for people and for JSON.

    `{block, rotation, seated, winners, scores, rounds}`: `seated` names by seat the place whose policy sits there. Each
    round is `{round, leader, hands, stock, plies, reason, winner, credit, final_hands, scores}`, hands by seat, `credit` what
    the round added and `scores` the sums after it. Each ply is `{seat, drawn, placement, line, connections, ports}`:
    `placement` is `{tile, end}`, or null for a pass; the rest is the table after the ply.
    """
    record = replay_match(lineup, block, rotation)
    return {
        "block": block,
        "rotation": rotation,
        "seated": list(lineup.seated(rotation)),
        "winners": list(record.winners),
        "scores": list(record.scores),
        "rounds": [_round_out(number, played) for number, played in enumerate(record.rounds)],
    }


def _round_out(number: int, played: RoundRecord) -> dict[str, Any]:
    line = Line()
    return {
        "round": number,
        "leader": played.leader,
        "hands": [[tile_out(tile) for tile in hand] for hand in played.deal.hands],
        "stock": [tile_out(tile) for tile in played.deal.stock],
        "plies": [_ply_out(ply, line) for ply in played.plies],
        "reason": played.end.reason,
        "winner": played.end.winner,
        "credit": list(played.end.credit),
        "final_hands": [[tile_out(tile) for tile in hand] for hand in played.final_hands],
        "scores": list(played.scores),
    }


def _ply_out(ply: Ply, line: Line) -> dict[str, Any]:
    placed = ply.placement
    if placed is not None:
        line.place(placed)
    return {
        "seat": ply.seat,
        "drawn": [tile_out(tile) for tile in ply.drawn],
        "placement": None if placed is None else {"tile": tile_out(placed.tile), "end": placed.end},
        **line.to_json(),
    }


def _ports(tile: Tile, end: int | None) -> tuple[Port, Port]:
    """The port of a tile that joins an end of this value (an opening: either), and the one that stays open."""
    if is_double(tile):
        return Port(tile, "A"), Port(tile, "B")
    low, high = Port(tile, "low"), Port(tile, "high")
    return (low, high) if end in (None, tile[0]) else (high, low)


def _port_out(port: Port) -> dict[str, Any]:
    return {"tile": tile_out(port.tile), "port": port.name, "value": port.value}
